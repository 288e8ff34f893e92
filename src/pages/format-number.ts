const NUMBER = new Intl.NumberFormat('en-US')

/** With the same separators everywhere. */
export const formatNumber = (value: number): string => NUMBER.format(value)
