const NUMBER = new Intl.NumberFormat('en-US')

/** With the same separators everywhere. */
export const formatNumber = (value: number): string =>
  // Most are: they need no separator, and `Intl` takes its time for each.
  Number.isInteger(value) && value >= 0 && value < 1_000 ? String(value) : NUMBER.format(value)
