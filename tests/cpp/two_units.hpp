// What the two translation units of the C++ client share. Both include the header, one of them twice.
#ifndef TWO_UNITS_HPP
#define TWO_UNITS_HPP

#include <memory>
#include <string>
#include <type_traits>

#include "taskhold.h"

struct Free {
    void operator()(char *string) const { taskhold_string_free(string); }
};
using OwnedString = std::unique_ptr<char, Free>;

struct CloseManager {
    void operator()(taskhold_manager *manager) const { static_cast<void>(taskhold_manager_close(manager)); }
};
using Manager = std::unique_ptr<taskhold_manager, CloseManager>;

std::string create(const Manager &manager);

#endif
