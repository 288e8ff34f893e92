/** The table of credential kinds in docs/operating.md. */
import { CREDENTIAL_KINDS, ENDING_CAUSES, ROTATED_SECRETS } from '../../src/contracts/credential-kinds.ts'
import { table } from './table.ts'

export const credentialsTable = (): string =>
  table(
    ['Credential', 'Looks like', 'Validated by', 'Rotating ends it', 'Also ended by'],
    Object.values(CREDENTIAL_KINDS).map((kind) => [
      kind.name,
      looksLike(kind),
      kind.validatedBy,
      ROTATED_SECRETS.filter((secret) => (kind.secrets as readonly string[]).includes(secret))
        .map((secret) => `\`${secret}\``)
        .join(', ') || 'no secret',
      [...kind.causes.map((cause) => ENDING_CAUSES[cause]), kind.also]
        .filter((words) => words !== '')
        .join('; '),
    ]),
  )

const looksLike = (kind: object): string => {
  if ('prefix' in kind) return `\`${String(kind.prefix)}…\``
  return 'type' in kind ? `JWT \`${String(kind.type)}\`` : ''
}
