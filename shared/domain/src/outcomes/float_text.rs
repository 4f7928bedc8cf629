//! Floats as Python writes them: digests and sizes are compared with those of Python programs.

/// The shortest decimal text that reads back as the same float, as Python's `repr` writes it: plain from 1e-4 up to
/// 1e16, with an exponent of at least two digits beyond.
#[must_use]
pub fn float_text(number: f64) -> String {
    let shortest = format!("{number:e}");
    // Not finite: there is no exponent.
    let Some((mantissa, exponent)) = shortest.split_once('e') else { return shortest };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    format!(
        "{sign}{}",
        if (-4..16).contains(&exponent) { plain(&digits, exponent) } else { scientific(&digits, exponent) }
    )
}

fn plain(digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    match digits.len().checked_sub(whole) {
        _ if whole == 0 => format!("0.{digits}"),
        Some(rest) if rest > 0 => format!("{}.{}", &digits[..whole], &digits[whole..]),
        _ => format!("{digits}{}.0", "0".repeat(whole - digits.len())),
    }
}

fn scientific(digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-12.5, "-12.5"),
            (100.0, "100.0"),
            (123_456_789.125, "123456789.125"),
            (0.0001, "0.0001"),
            (0.00012, "0.00012"),
            (0.000_099_9, "9.99e-05"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (1e22, "1e+22"),
            (1e100, "1e+100"),
            (-1e-100, "-1e-100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(float_text(number), text);
        }
    }

    proptest! {
        #[test]
        fn the_text_of_any_float_reads_back_as_the_same_float(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let read: f64 = float_text(number).parse().unwrap();
            prop_assert_eq!(read.to_bits(), number.to_bits());
        }
    }
}
