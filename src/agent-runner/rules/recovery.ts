/**
 * Whether what an error complains of works again. Only the app itself can say so: a statement of its source has to write it, and
 * it has to be about the same thing. What works again is nothing that somebody sent.
 */
import { isSevere, RECOVERY, withoutQuotations } from './fault.ts'
import { statementOf } from './find-place.ts'
import { wordsOf } from './log-statement.ts'
import { timeOf, type Picture } from './picture.ts'
import type { LogGroup } from './reader.ts'

/** Each takes a call. */
const GROUPS_MAX = 3

export async function hasRecovered(picture: Picture, error: LogGroup): Promise<boolean> {
  const names = namesIn(picture, error.template)
  const candidates = picture.groups.filter(
    (group) =>
      isAfter(group, error) &&
      RECOVERY.test(withoutQuotations(group.template)) &&
      wordsIn(group.template).some((word) => names.has(word)),
  )
  for (const group of candidates.slice(0, GROUPS_MAX)) {
    const statement = await statementOf(picture, group.template)
    if (statement && RECOVERY.test(wordsOf(statement.text))) return true
  }
  return false
}

/** What was said before the first error, is said without any. */
const isAfter = (group: LogGroup, error: LogGroup): boolean =>
  timeOf(group.first_at) > timeOf(error.first_at) && timeOf(group.last_at) >= timeOf(error.last_at)

/** Words that name something: not those of every error, and not those of every line of the app, such as its own name. */
function namesIn({ groups }: Picture, template: string): Set<string> {
  const ordinary = groups.filter((group) => !isSevere(group.level) && !RECOVERY.test(group.template))
  const everywhere = (word: string): boolean =>
    ordinary.length >= ORDINARY_MIN &&
    ordinary.filter((group) => wordsIn(group.template).includes(word)).length > ordinary.length / 2
  return new Set(wordsIn(template).filter((word) => !COMMON.test(word) && !everywhere(word)))
}

const ORDINARY_MIN = 3

const wordsIn = (template: string): string[] =>
  withoutQuotations(template)
    .replaceAll(/<\w+>/g, ' ')
    .toLowerCase()
    .match(/[a-z][a-z0-9_]{1,80}/g) ?? []

const COMMON =
  /^(?:again|after|all|an|and|are|as|at|attempt\w*|back|be|been|before|but|by|call|called|can|cannot|closed|connect|connected|connecting|connection|connections|could|econn\w*|enotfound|err|error|errors|etimedout|eai_again|exception|fail|failed|failing|fails|failure|for|from|get|has|have|host|http|https|id|in|info|into|is|it|level|log|lost|message|ms|msg|no|not|now|of|off|ok|on|online|or|out|port|post|reconnect\w*|recovered|refused|request|requests|reset|response|restored|resumed|retr(?:y|ies|ied|ying)|server|service|session|sessions|socket|started|starting|status|still|stopped|succeeded|success|tcp|the|this|time|timed|timeout|to|try|trying|unable|up|user|users|visitor|warn|warning|was|were|will|with)$/
