/**
 * The texts that wait for the built-in model. Organizations take turns, one text each (start-time fair queuing), so that
 * whoever asks little waits for the text under way and at most one of each other organization, however many they have.
 * A question, for which somebody waits, goes before texts in bulk, which are still not left waiting for ever.
 */
export type TextKind = 'question' | 'bulk'
export type WaitingText = { readonly owner: string; readonly kind: TextKind }

/** Of one kind: waiting texts of one organization, and of all. */
export type Share = { readonly perOwner: number; readonly all: number }
export type QueueLimits = Readonly<Record<TextKind, Share>>

const QUEUE_LIMITS: QueueLimits = {
  // 16 of the longest take one thread 5 s, about as long as anybody waits.
  question: { perOwner: 16, all: 128 },
  // One call of the embeddings endpoint has up to 256.
  bulk: { perOwner: 256, all: 4_096 },
}

/** Questions in a row while texts in bulk wait. */
const QUESTIONS_IN_ROW = 8

type Lane<Text> = {
  readonly share: Share
  /** By organization, in the order of their last turn or of their arrival. */
  readonly byOwner: Map<string, Text[]>
  /** The round in which an organization has its next turn. One that comes has it in this round, unless it has had it. */
  readonly roundOf: Map<string, number>
  round: number
  size: number
}

export type TextQueue<Text extends WaitingText> = {
  readonly size: () => number
  readonly owners: () => number
  readonly waitingOf: (owner: string) => number
  /** The text that finds no room: this one, or, when the whole queue is full, the last one of whoever has most. */
  readonly add: (text: Text) => Text | undefined
  /** Before all others: it has had its turn. */
  readonly putBack: (text: Text) => void
  /** The next text, if it fits; it stays the next otherwise. */
  readonly take: (fits?: (text: Text) => boolean) => Text | undefined
  readonly remove: (text: Text) => boolean
  readonly removeAll: () => Text[]
}

export function textQueue<Text extends WaitingText>(limits: QueueLimits = QUEUE_LIMITS): TextQueue<Text> {
  const lanes: Record<TextKind, Lane<Text>> = {
    question: newLane(limits.question),
    bulk: newLane(limits.bulk),
  }
  const again: Text[] = []
  let questionsInRow = 0

  function put(lane: Lane<Text>, text: Text): void {
    const own = lane.byOwner.get(text.owner)
    if (own) own.push(text)
    else {
      lane.byOwner.set(text.owner, [text])
      lane.roundOf.set(text.owner, Math.max(lane.round, lane.roundOf.get(text.owner) ?? 0))
    }
    lane.size += 1
  }

  function remove(text: Text): boolean {
    const at = again.indexOf(text)
    if (at !== -1) return again.splice(at, 1).length > 0
    const lane = lanes[text.kind]
    const own = lane.byOwner.get(text.owner) ?? []
    const place = own.indexOf(text)
    if (place === -1) return false
    own.splice(place, 1)
    if (own.length === 0) lane.byOwner.delete(text.owner)
    lane.size -= 1
    return true
  }

  function next(): Text | undefined {
    if (again.length > 0) return again[0]
    const { question, bulk } = lanes
    const isTurnOfBulk = question.size === 0 || (bulk.size > 0 && questionsInRow >= QUESTIONS_IN_ROW)
    return nextIn(isTurnOfBulk ? bulk : question)
  }

  return {
    size: () => again.length + lanes.question.size + lanes.bulk.size,
    owners: () => new Set([...lanes.question.byOwner.keys(), ...lanes.bulk.byOwner.keys()]).size,
    waitingOf: (owner) =>
      (lanes.question.byOwner.get(owner)?.length ?? 0) + (lanes.bulk.byOwner.get(owner)?.length ?? 0),

    add(text) {
      const lane = lanes[text.kind]
      const own = lane.byOwner.get(text.owner)?.length ?? 0
      if (own >= lane.share.perOwner) return text
      if (lane.size < lane.share.all) {
        put(lane, text)
        return undefined
      }
      const most = largest(lane)
      if (most.length <= own + 1) return text
      const last = most.at(-1)!
      remove(last)
      put(lane, text)
      return last
    },

    putBack: (text) => void again.push(text),

    take(fits = () => true) {
      const text = next()
      if (!text || !fits(text)) return undefined
      const isAgain = again[0] === text
      remove(text)
      if (isAgain) return text
      questionsInRow = text.kind === 'question' ? questionsInRow + 1 : 0
      endTurn(lanes[text.kind], text.owner)
      return text
    },

    remove,

    removeAll() {
      const all = again.splice(0)
      for (const lane of Object.values(lanes)) {
        all.push(...[...lane.byOwner.values()].flat())
        lane.byOwner.clear()
        lane.roundOf.clear()
        lane.size = 0
      }
      return all
    },
  }
}

const newLane = <Text>(share: Share): Lane<Text> => ({
  share,
  byOwner: new Map(),
  roundOf: new Map(),
  round: 0,
  size: 0,
})

function nextIn<Text>({ byOwner, roundOf }: Lane<Text>): Text | undefined {
  let [next, first] = [undefined as Text | undefined, Infinity]
  for (const [owner, [text]] of byOwner) {
    const round = roundOf.get(owner) ?? 0
    if (round < first) [next, first] = [text, round]
  }
  return next
}

function endTurn<Text>(lane: Lane<Text>, owner: string): void {
  const { byOwner, roundOf } = lane
  lane.round = roundOf.get(owner) ?? lane.round
  roundOf.set(owner, lane.round + 1)
  const rest = byOwner.get(owner)
  if (rest) {
    byOwner.delete(owner)
    byOwner.set(owner, rest)
  }
  // Whoever is gone, and would come again with a turn of this round, need not be known.
  for (const [gone, round] of roundOf) if (round <= lane.round && !byOwner.has(gone)) roundOf.delete(gone)
}

function largest<Text>({ byOwner }: Lane<Text>): readonly Text[] {
  let most: readonly Text[] = []
  for (const own of byOwner.values()) if (own.length > most.length) most = own
  return most
}
