use crate::frame::Frame;

const SECONDS_PER_HOUR: i64 = 3_600;

/// How fast the water rises or falls at a station.
pub struct Tide {
    last: Option<(u64, i64)>,
}

impl Tide {
    pub fn new() -> Tide {
        Tide { last: None }
    }

    /// Millimetres per hour since the reading before; 0 for the first.
    pub fn add(&mut self, frame: &Frame) -> i64 {
        let before = self.last.replace((frame.taken_at, frame.level_mm));
        match before {
            None => 0,
            Some((taken_at, level_mm)) => {
                let seconds = frame.taken_at - taken_at;
                per_hour(frame.level_mm - level_mm, seconds)
            }
        }
    }
}

/// Readings of the same second have no rate.
fn per_hour(change_mm: i64, seconds: u64) -> i64 {
    if seconds == 0 {
        return 0;
    }
    change_mm * SECONDS_PER_HOUR / seconds as i64
}
