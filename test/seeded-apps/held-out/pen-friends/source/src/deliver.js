const boxes = new Map()

export function deliver(body) {
  const [to, ...words] = body.split(' ')
  boxes.set(to, [...(boxes.get(to) ?? []), words.join(' ')])
  return 'delivered'
}
