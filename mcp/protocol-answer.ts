import type { Scope } from '../src/contracts/scopes.ts'

/** An answer that is a result of the protocol itself, and no text for a model: a task, or a request for input. */
export class ProtocolAnswer {
  readonly result: { readonly resultType: 'task' | 'input_required' } & Readonly<Record<string, unknown>>

  /** What the client then needs besides the scopes of the tool, to go on with the answer. */
  readonly scopes: readonly Scope[]

  constructor(result: ProtocolAnswer['result'], scopes: readonly Scope[] = []) {
    this.result = result
    this.scopes = scopes
  }
}
