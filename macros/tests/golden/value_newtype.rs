/// The name that others see.
#[value(text, trim, min = 1, max = 100, too_short = "Display name cannot be empty", pattern = "^[^<]*$", check = tidy)]
pub struct DisplayName(String);

#[value(integer, min = 13, max = 120)]
pub struct Age(i64);

#[value(number, min = 0.0)]
struct Weight(f64);
