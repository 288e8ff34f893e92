export const index = [
  { id: 1, text: 'opening hours' },
  { id: 2, text: 'prices' },
]
