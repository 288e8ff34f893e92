/** An answer that is a result of the protocol itself, and no text for a model: a task, or a request for input. */
export class ProtocolAnswer {
  readonly result: { readonly resultType: 'task' | 'input_required' } & Readonly<Record<string, unknown>>

  constructor(result: ProtocolAnswer['result']) {
    this.result = result
  }
}
