/** What the client of one message can do beyond showing text. */

/** SEP-2663: a call may be answered by a task, which the client asks after. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** The name of our only request for input: that the user opens a link. */
export const LINK = 'link'

export type ClientAbilities = {
  readonly hasTasks: boolean
  /** Whether it draws chat cards. */
  readonly drawsCards: boolean
  /** Whether it can ask its user to open a link (elicitation in URL mode). */
  readonly opensLinks: boolean
  /** What its user did with the link of an earlier answer to this call; `accept` is no more than opening it. */
  readonly link: 'accept' | 'decline' | 'cancel' | undefined
}
