/**
 * What comes first by an order that changes: any item is moved or taken out in as many steps as the heap is deep. An item
 * knows its place in each heap that it may be in, by the number of the heap.
 */
export type InHeaps = { readonly places: (number | undefined)[] }

export class Heap<T extends InHeaps> {
  readonly #items: T[] = []
  readonly #number: number
  readonly #isBefore: (one: T, other: T) => boolean

  constructor(number: number, isBefore: (one: T, other: T) => boolean) {
    this.#number = number
    this.#isBefore = isBefore
  }

  get size(): number {
    return this.#items.length
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  /** Puts it in, or where it belongs since it has changed. */
  place(item: T): void {
    this.#settle(item, item.places[this.#number] ?? this.#items.length)
  }

  remove(item: T): void {
    const at = item.places[this.#number]
    if (at === undefined) return
    item.places[this.#number] = undefined
    const last = this.#items.pop()!
    if (last !== item) this.#settle(last, at)
  }

  #settle(item: T, start: number): void {
    let at = start
    for (
      let above = (at - 1) >> 1;
      at > 0 && this.#isBefore(item, this.#items[above]!);
      above = (at - 1) >> 1
    ) {
      this.#put(this.#items[above]!, at)
      at = above
    }
    for (let below = this.#below(at); below && this.#isBefore(this.#items[below]!, item);) {
      this.#put(this.#items[below]!, at)
      at = below
      below = this.#below(at)
    }
    this.#put(item, at)
  }

  /** Of the two below, the one that comes first; 0 where there is none. */
  #below(at: number): number {
    const left = 2 * at + 1
    if (left >= this.#items.length) return 0
    const right = left + 1
    return right < this.#items.length && this.#isBefore(this.#items[right]!, this.#items[left]!)
      ? right
      : left
  }

  #put(item: T, at: number): void {
    this.#items[at] = item
    item.places[this.#number] = at
  }
}
