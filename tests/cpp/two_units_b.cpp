#include "two_units.hpp"

#include "check.h"
#include "taskhold.h"

std::string create(const Manager &manager) {
    char *record = nullptr, *id = nullptr, *error = nullptr;
    CHECK_OK(taskhold_manager_create_task(manager.get(), "{\"endpoint\": \"/mcp\", \"origin\": 1}", &record,
                                          &error));
    OwnedString owned_record(record);
    CHECK_OK(taskhold_json_get(owned_record.get(), "/task/taskId", &id, &error));
    OwnedString owned_id(id);
    return owned_id.get();
}
