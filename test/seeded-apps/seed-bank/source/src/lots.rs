pub struct Lot {
    pub id: u64,
    pub seeds: u32,
    pub grams: u32,
}

impl Lot {
    /// Seeds in a gram, which the label has.
    pub fn per_gram(&self) -> u32 {
        let seeds = self.seeds;
        let rate = seeds / self.grams;
        rate.max(1)
    }
}
