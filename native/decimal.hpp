// Decimal text to the nearest double, the same on every machine and in every locale.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <string>

namespace steelyard {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// For a better error: "nan", "inf" and "infinity" in any case, with or without a sign, begin like this.
inline bool begins_like_nan(const char *p, const char *end) {
  if (p < end && (*p == '+' || *p == '-'))
    ++p;
  return p < end && (*p == 'n' || *p == 'N' || *p == 'i' || *p == 'I');
}

// The general case: more digits or larger powers than a double holds exactly. The text carries no sign.
inline double nearest_double(const char *p, const char *end, bool is_large) {
  double value = 0;
#if defined(__cpp_lib_to_chars)
  const auto result = std::from_chars(p, end, value);
  const bool is_read = result.ec == std::errc();
#else
  std::istringstream text(std::string(p, end));
  text.imbue(std::locale::classic());
  const bool is_read = static_cast<bool>(text >> value);
#endif
  return is_read ? value : is_large ? std::numeric_limits<double>::infinity() : 0.0;
}

// Reads [+-] digits [. digits] [e [+-] digits], with at least one digit before the exponent. Returns the place after
// the number, or null if there is none. Too large gives infinity, too small gives zero.
inline const char *read_decimal(const char *p, const char *end, double &value) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+'))
    ++p;
  const char *start = p;
  std::uint64_t mantissa = 0; // wraps after 19 significant digits and is not used then
  std::int64_t significant = 0, exponent = 0;
  bool any = false;
  for (; p < end && is_digit(*p); ++p) {
    mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p - '0');
    significant += significant > 0 || *p != '0';
    any = true;
  }
  if (p < end && *p == '.') {
    for (++p; p < end && is_digit(*p); ++p) {
      mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p - '0');
      significant += significant > 0 || *p != '0';
      --exponent;
      any = true;
    }
  }
  if (!any)
    return nullptr;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char *digits = p + 1;
    const bool shrinks = digits < end && *digits == '-';
    if (digits < end && (*digits == '-' || *digits == '+'))
      ++digits;
    std::int64_t power = 0;
    for (p = digits; p < end && is_digit(*p); ++p)
      power = power > 1000000000 ? power : 10 * power + (*p - '0');
    if (p == digits)
      return nullptr;
    exponent += shrinks ? -power : power;
  }
  // mantissa and power of ten are both exact doubles here, so one rounding gives the nearest double (Clinger 1990)
  if (significant <= 19 && mantissa <= (std::uint64_t(1) << 53) && exponent >= -22 && exponent <= 22)
    value = exponent < 0 ? static_cast<double>(mantissa) / powers[-exponent]
                         : static_cast<double>(mantissa) * powers[exponent];
  else
    value = nearest_double(start, p, significant > 0 && significant + exponent > 0);
  if (negative)
    value = -value;
  return p;
}

} // namespace steelyard
