/** An answer that is not written once whoever it is for may not have it any more: see src/trust/open-answers.ts. */
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { OpenAnswer, OpenAnswers } from '../trust/open-answers.ts'

export class GuardedResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  #answer: OpenAnswer | undefined
  #socket: Socket | undefined

  /** All that `work` begins belongs to this answer, until it is written or its connection is gone. */
  guardedBy(answers: OpenAnswers, socket: Socket, work: () => void): void {
    this.#socket = socket
    // Not destroyed only: what the system still has to send would arrive.
    const { authorization, cookie } = this.req.headers
    const to = {
      reset: () => void socket.resetAndDestroy(),
      hasBegun: () => this.headersSent,
      hasCredential: authorization !== undefined || cookie !== undefined,
    }
    answers.open(to, (answer) => {
      this.#answer = answer
      this.once('close', () => answer.close())
      work()
    })
  }

  /** Ends what would go on by itself: its reader comes back, to another process. */
  endIfGoesOn(): void {
    if (this.headersSent && this.#answer?.goesOn()) this.end()
  }

  /** Asked before each write, because a process that was stopped for a while knows of nothing else first. */
  #mayWrite(): boolean {
    if (!this.#answer?.isOver()) return true
    this.#socket?.resetAndDestroy()
    return false
  }

  override write(...given: unknown[]): boolean {
    return this.#mayWrite() && super.write(...(given as Parameters<ServerResponse['write']>))
  }

  override end(...given: unknown[]): this {
    return this.#mayWrite() ? super.end(...(given as Parameters<ServerResponse['end']>)) : this
  }

  override flushHeaders(): void {
    if (this.#mayWrite()) super.flushHeaders()
  }
}
