/**
 * Which rows of a source somebody sees, by its access column: one condition, which every statement takes that reads rows for
 * somebody. A row that names nobody, or nobody known, is seen by nobody.
 */
import type { Handle } from '../../../db/connect.ts'
import { arrayLiteral, quoteIdentifier } from '../../../db/managed/quote-identifier.ts'
import { atLeast, lowerOf, ROLES, type Role } from '../../contracts/roles.ts'
import { memberKey, type Directory, type MemberKey } from '../directory/index.ts'
import { readGroupNames } from '../groups/index.ts'
import type { SourceRow } from '../databases/index.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { Condition } from './filter-columns.ts'
import type { ColumnInfo } from './read-rows.ts'
import type { TableInfo } from './table-info.ts'

/** `all`: the source has no access column, or no row is shown to anybody. Otherwise the values of which a row must have one. */
export type RowAccess = 'all' | { readonly column: string; readonly names: readonly string[] }

export type AccessDeps = { readonly db: Handle; readonly directory: Directory }

const EVERYONE = 'everyone'

/** Of the source as it was read for this call, and the rights of this moment. */
export async function rowAccessOf(
  deps: AccessDeps,
  principal: MemberPrincipal,
  source: Pick<SourceRow, 'configuration'>,
  readNames = () => namesOf(deps, principal),
): Promise<RowAccess> {
  const column = source.configuration?.access_column ?? null
  return column === null ? 'all' : { column, names: await readNames() }
}

/**
 * Support staff are nobody's colleagues, and a machine agent is no member: it sees what its groups see. Everybody else sees
 * what they see themselves, with whatever credential, at most with the role of that.
 */
export async function namesOf(
  { db, directory }: AccessDeps,
  { orgId, userId, role, machineAgent, supportSessionId }: MemberPrincipal,
): Promise<readonly string[]> {
  if (supportSessionId !== undefined) return []
  const key = { orgId, userId }
  return machineAgent
    ? namesOfMachineAgent(db, key, machineAgent.id)
    : namesOfMember({ db, directory }, key, role)
}

export const namesOfMachineAgent = async (
  db: Handle,
  key: MemberKey,
  agentId: string,
): Promise<readonly string[]> => groups(await readGroupNames(db, key, agentId))

/** `most`: the role of the credential. None of who is not a member any more. */
export async function namesOfMember(
  { db, directory }: AccessDeps,
  key: MemberKey,
  most: Role,
): Promise<readonly string[]> {
  const member = (await directory.readMembers(db, [key])).get(memberKey(key))
  if (!member) return []
  const role = lowerOf(most, member.role)
  return [
    EVERYONE,
    ...ROLES.filter((one) => atLeast(role, one)).map((one) => `role:${one}`),
    ...(member.email === null ? [] : [`user:${member.email.toLowerCase()}`]),
    ...groups(await readGroupNames(db, key, member.membershipId)),
  ]
}

const groups = (names: readonly string[]): string[] => names.map((name) => `group:${name}`)

/** `text` has one value, `text[]` any number. */
type AccessType = 'text' | 'text[]'

/** Undefined where the column cannot say who sees a row. */
export function accessTypeOf({ type, kind }: ColumnInfo): AccessType | undefined {
  if (kind !== 'b') return undefined
  if (type === 'text' || type === 'varchar') return 'text'
  return type === '_text' || type === '_varchar' ? 'text[]' : undefined
}

/** `undefined` where no row can match, as with a filter; none where all rows may be read. */
export function accessConditions(
  access: RowAccess,
  { columns }: Pick<TableInfo, 'columns'>,
  placeholder: string,
): readonly Condition[] | undefined {
  if (access === 'all') return []
  const column = columns.get(access.column)
  const type = column && accessTypeOf(column)
  if (!type || access.names.length === 0) return undefined
  const name = quoteIdentifier(access.column)
  const text =
    type === 'text' ? `${name} = any(${placeholder}::text[])` : `${name}::text[] && ${placeholder}::text[]`
  return [{ text, parameter: arrayLiteral(access.names) }]
}
