/**
 * The one fair queue in memory. Who waits is found by keys in order: turns go by the first (an organization, a network),
 * among those of one by the second (a person), and of one key in the order of arrival. Whoever has the fewest running is
 * next, and among those the one with the fewest turns (start-time fair queuing), so one that asks a lot delays itself:
 * what a key without a cap does not need is lent to others, and comes back with the next that ends.
 *
 * No step walks over those who wait: every key holds the keys below it that could start one, in a heap.
 */
import type { CountedRules, QueueRules } from '../../contracts/fair-queues.ts'
import { Heap, type InHeaps } from './heap.ts'
import { linkedList } from './linked-list.ts'

export type Turn<T> = {
  readonly value: T
  /** May be called twice; a long one may end its turn before it is over. */
  readonly end: () => void
}

export type FairQueue<T> = {
  /** A turn at once, for one who need not wait; undefined where the caps of its keys are reached. */
  start(keys: readonly string[], value: T): Turn<T> | undefined
  /** Returns how to leave; undefined where there is no room to wait. */
  add(keys: readonly string[], value: T): (() => void) | undefined
  /** Whose turn it is, if it fits; it stays the next otherwise. */
  take(fits?: (value: T) => boolean): Turn<T> | undefined
  /** Of a key, with those before it; without any, of all. */
  waiting(keys?: readonly string[]): number
  /** How many first keys have one that waits and may start. */
  startable(): number
  /** What is remembered of keys: nothing once all is done. */
  size(): number
}

type Options<T> = {
  /** For one that waited, and gave way to another. */
  readonly refuse?: (value: T) => void
}
/** In milliseconds, where turns go by time. */
type Timed<T> = Options<T> & { readonly now: () => number }

type Waiting<T> = { readonly value: T; readonly node: Node<T>; takeOut?: (() => void) | undefined }

/** All, a key of the first level, or a key below another one. */
type Node<T> = InHeaps & {
  readonly key: string
  readonly depth: number
  readonly parent: Node<T> | undefined
  readonly children: Map<string, Node<T>>
  /** Those below that could start one. */
  readonly ready: Heap<Node<T>>
  /** Those below with one that waits, by how many they have. */
  readonly longest: Heap<Node<T>>
  /** Those below with nothing to do that have had more turns than others, and are remembered for it. */
  readonly resting: Heap<Node<T>>
  line?: ReturnType<typeof linkedList<Waiting<T>>>
  running: number
  waiting: number
  /** Turns it has had, or the time that it has used, counted on from where others were when it came. */
  used: number
  /** Changes with every turn: of those that have used the same, who had theirs longest ago. */
  order: number
  /** Of those below: what the one that had the last turn had used before, and the most that any has. */
  current: number
  most: number
  newcomers: number
}

/**
 * One who comes is before those who had their turn; but only so many until one of those has the next, or ever new ones would
 * keep them waiting.
 */
const NEWCOMERS_MAX = 32

export function createFairQueue<T>(rules: CountedRules, options?: Options<T>): FairQueue<T>
export function createFairQueue<T>(rules: QueueRules, options: Timed<T>): FairQueue<T>
export function createFairQueue<T>(
  rules: QueueRules,
  options: Options<T> & Partial<Timed<T>> = {},
): FairQueue<T> {
  const { refuse, now = () => 0 } = options
  const levels = ['all', ...rules.keys] as const
  const runningMax = levels.map((level) => rules.running?.[level] ?? Infinity)
  const waitingMax = levels.map((level) => rules.waiting?.[level] ?? Infinity)
  const last = rules.keys.length
  /** A bound of none counts for a key, too, of which nothing is known yet. */
  const mayWait = !waitingMax.includes(0)
  const isBounded = waitingMax.slice(0, last).some((most) => most !== Infinity)
  const root = createNode<T>('', undefined)
  let order = 0
  let size = 0

  const isReady = ({ depth, running, waiting, ready }: Node<T>): boolean =>
    running < runningMax[depth]! && (depth === last ? waiting > 0 : ready.size > 0)

  function find(keys: readonly string[]): Node<T> | undefined {
    let node: Node<T> | undefined = root
    for (const key of keys) node = node?.children.get(key)
    return node
  }

  function findOrCreate(keys: readonly string[]): Node<T> {
    let node = root
    for (let at = 0; at < last; at++) {
      const key = keys[at]!
      let child = node.children.get(key)
      if (!child) {
        child = createNode(key, node)
        node.children.set(key, child)
        size += 1
      }
      if (isAtRest(child)) enter(node, child)
      node = child
    }
    return node
  }

  /** Nobody saves turns up, and nobody has them back by leaving. */
  function enter(parent: Node<T>, child: Node<T>): void {
    parent.resting.remove(child)
    child.order = ++order
    if (child.used > parent.current) return
    const isLate = parent.newcomers >= NEWCOMERS_MAX
    parent.newcomers += 1
    child.used = isLate ? Math.max(parent.most, parent.current) : parent.current
  }

  /** Counts one more or less, here and above, and puts each where it belongs. */
  function count(node: Node<T>, running: number, waiting: number): void {
    for (let at: Node<T> | undefined = node; at; at = at.parent) {
      at.running += running
      at.waiting += waiting
    }
    for (let at = node; at.parent; at = at.parent) {
      const { ready, longest } = at.parent
      if (isReady(at)) ready.place(at)
      else ready.remove(at)
      if (isBounded && at.waiting > 0) longest.place(at)
      else if (isBounded) longest.remove(at)
    }
    for (let at = node; at.parent; at = at.parent) if (isAtRest(at)) rest(at.parent, at)
  }

  function rest(parent: Node<T>, child: Node<T>): void {
    if (isAtRest(parent)) {
      size -= parent.children.size
      parent.children.clear()
      for (let one = parent.resting.first; one; one = parent.resting.first) parent.resting.remove(one)
      Object.assign(parent, { current: 0, most: 0, newcomers: 0 })
    } else {
      parent.resting.place(child)
      forgetEqual(parent)
    }
  }

  /** One that would come again with no more than others have had need not be known. */
  function forgetEqual({ resting, children, current }: Node<T>): void {
    for (let child = resting.first; child && child.used <= current; child = resting.first) {
      resting.remove(child)
      children.delete(child.key)
      size -= 1
    }
  }

  function use(parent: Node<T>, child: Node<T>, amount: number): void {
    child.used += amount
    child.order = ++order
    parent.most = Math.max(parent.most, child.used)
  }

  function begin(node: Node<T>, value: T, left: number): Turn<T> {
    for (let at = node; at.parent; at = at.parent) {
      const { parent } = at
      if (at.used > parent.current) Object.assign(parent, { current: at.used, newcomers: 0 })
      use(parent, at, rules.byTime ? 0 : 1)
      forgetEqual(parent)
    }
    count(node, 1, left)
    const startedAt = rules.byTime ? now() : 0
    let hasEnded = false
    return {
      value,
      end() {
        if (hasEnded) return
        hasEnded = true
        if (rules.byTime) useTime(node, now() - startedAt)
        count(node, -1, 0)
      },
    }
  }

  /** Whoever comes then begins with the share that each of those who wanted something has had meanwhile. */
  function useTime(node: Node<T>, ms: number): void {
    for (let at = node; at.parent; at = at.parent) {
      const { parent } = at
      use(parent, at, ms)
      parent.current += ms / (parent.children.size - parent.resting.size)
      forgetEqual(parent)
    }
  }

  /** Of the keys, and all together: the last that has what it may have. */
  function reached(
    keys: readonly string[],
    counted: 'running' | 'waiting',
    most: readonly number[],
  ): Node<T> | undefined {
    let found: Node<T> | undefined
    for (let node: Node<T> | undefined = root; node; node = node.children.get(keys[node.depth]!)) {
      if (node[counted] >= most[node.depth]!) found = node
    }
    return found
  }

  function leave(one: Waiting<T>): void {
    if (!one.takeOut) return
    one.takeOut()
    one.takeOut = undefined
    count(one.node, 0, -1)
  }

  /**
   * The newest of whoever has most below it leaves: of its keys, or of later ones below the same. False where the new one would
   * itself be of those: where everybody has one, whoever comes later is refused, or nobody who waits could be sure of it.
   */
  function giveWay(keys: readonly string[], full: Node<T>): boolean {
    let node = full
    let isOwn = true
    while (node.depth < last) {
      const own: Node<T> | undefined = isOwn ? node.children.get(keys[node.depth]!) : undefined
      const longest = node.longest.first
      if (!longest) return false
      if (!isOwn || longest.waiting > (own?.waiting ?? 0) + 1) {
        node = longest
        isOwn = false
      } else if (own) node = own
      else return false
    }
    const newest = isOwn ? undefined : node.line?.last()
    if (!newest) return false
    leave(newest)
    refuse?.(newest.value)
    return true
  }

  return {
    start: (keys, value) =>
      reached(keys, 'running', runningMax) ? undefined : begin(findOrCreate(keys), value, 0),

    add(keys, value) {
      if (!mayWait) return undefined
      const full = reached(keys, 'waiting', waitingMax)
      if (full && !giveWay(keys, full)) return undefined
      const node = findOrCreate(keys)
      const one: Waiting<T> = { value, node }
      one.takeOut = (node.line ??= linkedList()).append(one)
      count(node, 0, 1)
      return () => leave(one)
    },

    take(fits = () => true) {
      if (!isReady(root)) return undefined
      let node = root
      while (node.depth < last) node = node.ready.first!
      const one = node.line!.first()!
      if (!fits(one.value)) return undefined
      one.takeOut!()
      one.takeOut = undefined
      return begin(node, one.value, -1)
    },

    waiting: (keys = []) => find(keys)?.waiting ?? 0,
    startable: () => root.ready.size,
    size: () => size,
  }
}

const isAtRest = ({ running, waiting }: { running: number; waiting: number }): boolean =>
  running + waiting === 0

const createNode = <T>(key: string, parent: Node<T> | undefined): Node<T> => ({
  key,
  depth: parent ? parent.depth + 1 : 0,
  parent,
  children: new Map(),
  ready: new Heap(0, isNext<T>),
  longest: new Heap(1, hasMore<T>),
  resting: new Heap(2, hasUsedLess<T>),
  places: [undefined, undefined, undefined],
  running: 0,
  waiting: 0,
  used: 0,
  order: 0,
  current: 0,
  most: 0,
  newcomers: 0,
})

const hasMore = <T>(one: Node<T>, other: Node<T>): boolean => one.waiting > other.waiting
const hasUsedLess = <T>(one: Node<T>, other: Node<T>): boolean => one.used < other.used

function isNext<T>(one: Node<T>, other: Node<T>): boolean {
  if (one.running !== other.running) return one.running < other.running
  return one.used === other.used ? one.order < other.order : one.used < other.used
}
