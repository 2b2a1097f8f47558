package process

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// NumberKey is a text that is the same for two JSON numbers exactly when they have the same value: "1", "1.0" and
// "10e-1" share one key, "9007199254740993" and "9007199254740992" do not. It never expands an exponent, so that
// "1e999999999" costs no more than its own length.
func NumberKey(number string) string {
	sign, digits, exponent := decimal(number)
	if digits == "" {
		return "0"
	}
	return sign + digits + "e" + exponent
}

// decimal splits a decimal number into a sign ("" or "-"), its significant digits without zeros at either end, and the
// power of ten they are multiplied by. Zero has no digits.
func decimal(number string) (sign, digits, exponent string) {
	mantissa, power := number, ""
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, power = number[:i], number[i+1:]
	}
	switch {
	case strings.HasPrefix(mantissa, "-"):
		sign, mantissa = "-", mantissa[1:]
	case strings.HasPrefix(mantissa, "+"):
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "", "", ""
	}
	return sign, trimmed, addPower(power, len(digits)-len(trimmed)-len(fraction))
}

// addPower adds a small shift to a written exponent of any length.
func addPower(power string, shift int) string {
	if power == "" {
		return strconv.Itoa(shift)
	}
	if n, err := strconv.ParseInt(power, 10, 64); err == nil && n > math.MinInt32 && n < math.MaxInt32 {
		return strconv.FormatInt(n+int64(shift), 10)
	}
	n, ok := new(big.Int).SetString(strings.TrimPrefix(power, "+"), 10)
	if !ok {
		return power
	}
	return n.Add(n, big.NewInt(int64(shift))).String()
}
