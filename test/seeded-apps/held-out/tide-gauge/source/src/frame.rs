/// What a buoy sends: `<seconds since 1970>;<level in mm>;<checksum>`.
pub struct Frame {
    pub taken_at: u64,
    pub level_mm: i64,
}

impl Frame {
    pub fn parse(line: &str) -> Result<Frame, String> {
        let fields: Vec<&str> = line.trim().split(';').collect();
        let [taken_at, level, sum] = fields[..] else {
            return Err(format!("{} fields", fields.len()));
        };
        if checksum(taken_at, level) != sum {
            return Err("bad checksum".to_string());
        }
        Ok(Frame {
            taken_at: taken_at.parse().map_err(|_| "bad time".to_string())?,
            level_mm: level.parse().map_err(|_| "bad level".to_string())?,
        })
    }
}

fn checksum(taken_at: &str, level: &str) -> String {
    let sum = taken_at.bytes().chain(level.bytes()).fold(0u8, |sum, byte| sum ^ byte);
    format!("{sum:02x}")
}
