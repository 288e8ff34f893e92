/** An answer with what its chat card shows beside it. That goes into `_meta`, which is for the client and not for the model. */
export class CardAnswer {
  readonly answer: object
  readonly shown: Readonly<Record<string, unknown>>

  constructor(answer: object, shown: Readonly<Record<string, unknown>>) {
    this.answer = answer
    this.shown = shown
  }
}
