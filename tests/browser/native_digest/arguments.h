// Parses the command line of a case: key=value, where a value may be a list.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

[[noreturn]] inline void fail(const std::string& message) {
  std::fprintf(stderr, "native_digest: %s\n", message.c_str());
  std::exit(1);
}

inline void require_ok(ropewalk::Status status) {
  const ropewalk::StatusText text = ropewalk::describe_status(status);
  if (status != ropewalk::Status::ok) fail(std::string(text.field) + ": " + text.requirement);
}

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char letter : text) {
    if (letter == separator) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

// All arguments must be read, so that unknown keys are errors.
class Arguments {
 public:
  Arguments(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) fail(word + " is not key=value");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  bool has(const std::string& key) const { return values_.count(key) != 0; }

  std::string text(const std::string& key) {
    if (!has(key)) fail(key + " is needed");
    taken_.insert(key);
    return values_[key];
  }

  double number(const std::string& key) { return std::strtod(text(key).c_str(), nullptr); }
  double number(const std::string& key, double otherwise) { return has(key) ? number(key) : otherwise; }
  int integer(const std::string& key) { return static_cast<int>(number(key)); }
  int integer(const std::string& key, int otherwise) { return has(key) ? integer(key) : otherwise; }
  bool flag(const std::string& key, bool otherwise) { return has(key) ? text(key) == "true" : otherwise; }

  // Comma-separated numbers. The list lives as long as the arguments.
  const std::vector<double>& numbers(const std::string& key) {
    std::vector<double>& list = lists_[key];
    list.clear();
    for (const std::string& part : split(text(key), ',')) list.push_back(std::strtod(part.c_str(), nullptr));
    return list;
  }

  // The enumerator whose name is the value; `names` are in the order of the enum.
  template <class Enum>
  Enum name(const std::string& key, const std::vector<std::string>& names) {
    const std::string value = text(key);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == value) return static_cast<Enum>(i);
    }
    fail(key + "=" + value + " is not known");
  }

  void require_all_taken() const {
    for (const auto& [key, value] : values_) {
      if (taken_.count(key) == 0) fail(key + " is not known");
    }
  }

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<double>> lists_;
  std::set<std::string> taken_;
};
