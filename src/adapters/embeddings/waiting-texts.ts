/**
 * The texts that wait for the built-in model: organizations in turn, one text each. A question, for which somebody waits,
 * goes before texts in bulk, which are still not left waiting for ever.
 */
import { FAIR_QUEUES, type CountedRules } from '../../contracts/fair-queues.ts'
import { createFairQueue } from '../../cores/work/fair-queue.ts'

export type TextKind = 'question' | 'bulk'
export type WaitingText = {
  readonly owner: string
  readonly kind: TextKind
  /** How to leave, while it waits. */
  leave?: (() => void) | undefined
  /** Once it was taken: the model is done with it. */
  endTurn?: (() => void) | undefined
}
export type TextQueues = Readonly<Record<TextKind, CountedRules>>

const QUEUES: TextQueues = { question: FAIR_QUEUES.builtInQuestions, bulk: FAIR_QUEUES.builtInBulk }

/** Questions in a row while texts in bulk wait. */
const QUESTIONS_IN_ROW = 8

/** `refuse`: for one that finds no room, or makes it for another. */
export function waitingTexts<Text extends WaitingText>(refuse: (text: Text) => void, rules = QUEUES) {
  const queues = {
    question: createFairQueue<Text>(rules.question, { refuse }),
    bulk: createFairQueue<Text>(rules.bulk, { refuse }),
  }
  /** Before all others: they have had their turn. */
  const again = new Set<Text>()
  let questionsInRow = 0

  function nextQueue() {
    const { question, bulk } = queues
    const isTurnOfBulk =
      question.waiting() === 0 || (bulk.waiting() > 0 && questionsInRow >= QUESTIONS_IN_ROW)
    return isTurnOfBulk ? bulk : question
  }

  function take(fits: (text: Text) => boolean = () => true): Text | undefined {
    const [first] = again
    if (first) {
      if (!fits(first)) return undefined
      first.leave?.()
      return first
    }
    const turn = nextQueue().take(fits)
    if (!turn) return undefined
    const text = turn.value
    text.leave = undefined
    text.endTurn = turn.end
    questionsInRow = text.kind === 'question' ? questionsInRow + 1 : 0
    return text
  }

  return {
    size: () => again.size + queues.question.waiting() + queues.bulk.waiting(),
    /** Texts that may be before the next one of an organization. */
    ahead: ({ kind, owner }: Text) => queues[kind].waiting([owner]) * queues[kind].startable(),
    add(text: Text): void {
      text.leave = queues[text.kind].add([text.owner], text)
      if (!text.leave) refuse(text)
    },
    putBack(text: Text): void {
      again.add(text)
      text.leave = () => again.delete(text)
    },
    /** The next text, if it fits; it stays the next otherwise. */
    take,
    removeAll(): Text[] {
      const all: Text[] = []
      for (let text = take(); text; text = take()) {
        text.endTurn?.()
        all.push(text)
      }
      return all
    },
  }
}
