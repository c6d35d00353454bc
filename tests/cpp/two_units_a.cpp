// A C++11 host: the library's handles and strings in unique_ptr, a lambda as callback, and a capturing object as
// its user data.
#include "two_units.hpp"

#include <vector>

#include "check.h"

static_assert(std::is_same<taskhold_status, int32_t>::value, "a status is an int32_t");
static_assert(!std::is_convertible<taskhold_store *, taskhold_manager *>::value, "handles do not mix");

namespace {

struct Changes {
    std::vector<std::string> ids;
};

void run() {
    char *error = nullptr;
    taskhold_manager *raw = nullptr;
    CHECK_OK(taskhold_manager_open(nullptr, nullptr, &raw, &error));
    Manager manager(raw);

    static int released = 0;
    taskhold_subscription *subscription = nullptr;
    std::unique_ptr<Changes> changes(new Changes);
    Changes *seen = changes.get();
    CHECK_OK(taskhold_manager_subscribe(
        manager.get(),
        [](void *user_data, const char *task_id) {
            static_cast<Changes *>(user_data)->ids.push_back(task_id);
        },
        changes.release(),
        [](void *user_data) {
            delete static_cast<Changes *>(user_data);
            released++;
        },
        &subscription, &error));

    const std::string first = create(manager);
    const std::string second = create(manager);
    CHECK(seen->ids == (std::vector<std::string>{first, second}));
    CHECK(first != second);

    char *record = nullptr;
    CHECK_OK(taskhold_manager_complete_task(manager.get(), first.c_str(), "{\"content\": []}", nullptr,
                                            nullptr, &record, &error));
    OwnedString completed(record);
    CHECK_JSON(completed.get(), "/task/status", "completed");
    CHECK(seen->ids.size() == 3);
    CHECK(taskhold_subscription_close(subscription) == TASKHOLD_OK);
    CHECK(released == 1);
}

} // namespace

int main() {
    run();
    return finished();
}
