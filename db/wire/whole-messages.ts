/**
 * Hands on the engine's answers in whole messages: the engine cuts them anywhere, and when a statement is cancelled the
 * engine ends with it. An error of our own can follow a whole message, but not a half one.
 */

/** Whoever gives the bytes goes on once they are `taken`. */
export type OnAnswer = (bytes: Buffer, taken: () => void) => void

/** The start of a longer message is not kept back, but handed on as it comes. */
const KEEP_MAX_BYTES = 1024 * 1024

export class WholeMessages {
  readonly #handOn: OnAnswer
  #kept: Buffer = Buffer.alloc(0)
  /** Remaining bytes of a long message. */
  #missing = 0

  constructor(handOn: OnAnswer) {
    this.#handOn = handOn
  }

  /** Whether everything that was handed on is whole. */
  get isWhole(): boolean {
    return this.#missing === 0
  }

  receive(chunk: Buffer, taken: () => void): void {
    const bytes = this.#kept.length > 0 ? Buffer.concat([this.#kept, chunk]) : chunk
    let at = Math.min(this.#missing, bytes.length)
    this.#missing -= at
    while (at + 5 <= bytes.length) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      if (end > bytes.length && end - at <= KEEP_MAX_BYTES) break
      this.#missing = Math.max(0, end - bytes.length)
      at = Math.min(end, bytes.length)
    }
    this.#kept = bytes.subarray(at)
    // The engine goes on also while the start of a message is kept: its end has to come.
    if (at > 0) this.#handOn(bytes.subarray(0, at), taken)
    else taken()
  }
}
