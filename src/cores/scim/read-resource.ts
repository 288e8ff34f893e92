/** Reads what a directory sends: people, groups, and changes of both. Attributes that are not kept are passed over. */
import { DisplayName, Email } from '../../contracts/fields.ts'
import { GROUP_MEMBERS_MAX, SCIM_OPERATIONS_MAX } from '../../contracts/limits.ts'
import { matchesFilter, readTruth } from './match-filter.ts'
import { parsePath, type Filter, type Path } from './parse-filter.ts'
import { ScimError } from './scim-error.ts'

export type PersonAttributes = {
  readonly userName: string
  /** In lower case: the primary one, else that of work, else the first, else the user name. */
  readonly email: string
  readonly externalId: string | null
  readonly displayName: string | null
  readonly givenName: string | null
  readonly familyName: string | null
  readonly active: boolean
}

export type GroupAttributes = { readonly name: string; readonly externalId: string | null }

type Fields = ReadonlyMap<string, unknown>

/** Names of attributes are the same in any case. */
function fieldsOf(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ScimError('invalidSyntax', 'An object is expected')
  return new Map(Object.entries(value).map(([name, one]) => [name.toLowerCase(), one]))
}

const invalid = (name: string, why: string) => new ScimError('invalidValue', `${name}: ${why}`)

const TEXT_MAX = 256

function textOf(name: string, value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null
  if (typeof value !== 'string') throw invalid(name, 'must be a string')
  if (value.length > TEXT_MAX || /[\p{Cc}\p{Cs}]/u.test(value))
    throw invalid(name, `must be at most ${TEXT_MAX} characters, without control characters`)
  return value
}

function addressOf(name: string, value: unknown): string {
  const email = Email.safeParse(value)
  if (!email.success) throw invalid(name, 'must be an email address')
  return email.data
}

function userNameOf(value: unknown): string {
  const text = textOf('userName', value)
  addressOf('userName', text)
  return text!.trim()
}

function truthOf(value: unknown): boolean {
  return (
    readTruth(value) ??
    (() => {
      throw invalid('active', 'must be true or false')
    })()
  )
}

/** `active` undefined: it says nothing of it. */
export function readPerson(
  body: unknown,
): Omit<PersonAttributes, 'active'> & { readonly active: boolean | undefined } {
  const fields = fieldsOf(body)
  const userName = userNameOf(fields.get('username'))
  const name = fields.get('name') == null ? new Map<string, unknown>() : fieldsOf(fields.get('name'))
  return {
    userName,
    email: chosenEmail(fields.get('emails')) ?? userName.toLowerCase(),
    externalId: textOf('externalId', fields.get('externalid')),
    displayName: textOf('displayName', fields.get('displayname')),
    givenName: textOf('name.givenName', name.get('givenname')),
    familyName: textOf('name.familyName', name.get('familyname')),
    active: fields.get('active') == null ? undefined : truthOf(fields.get('active')),
  }
}

const EMAILS_MAX = 50

function chosenEmail(value: unknown): string | undefined {
  if (value == null) return undefined
  const list = Array.isArray(value) ? value : [value]
  if (list.length > EMAILS_MAX) throw invalid('emails', `at most ${EMAILS_MAX}`)
  const emails = list.map((one) => fieldsOf(one)).filter((one) => one.get('value') != null)
  const chosen =
    emails.find((one) => readTruth(one.get('primary')) === true) ??
    emails.find((one) => one.get('type') === 'work') ??
    emails[0]
  return chosen && addressOf('emails', chosen.get('value'))
}

type Change = {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: Path | undefined
  readonly value: unknown
}

/** RFC 7644, 3.5.2. Entra writes its operations with a capital. */
export function readChanges(body: unknown): readonly Change[] {
  const operations = fieldsOf(body).get('operations')
  if (!Array.isArray(operations) || operations.length === 0)
    throw new ScimError('invalidSyntax', 'Operations: at least one is expected')
  if (operations.length > SCIM_OPERATIONS_MAX)
    throw new ScimError('tooMany', `Operations: at most ${SCIM_OPERATIONS_MAX}`)
  return operations.flatMap((one) => readChange(fieldsOf(one)))
}

function readChange(fields: Fields): readonly Change[] {
  const [given, path, value] = [fields.get('op'), fields.get('path'), fields.get('value')]
  const op = typeof given === 'string' ? given.toLowerCase() : ''
  if (op !== 'add' && op !== 'replace' && op !== 'remove')
    throw new ScimError('invalidSyntax', 'op must be add, replace or remove')
  if (path != null && typeof path !== 'string') throw new ScimError('invalidPath', 'path must be a string')
  if (path != null && path !== '') return [{ op, path: parsePath(path), value }]
  if (op === 'remove') throw new ScimError('noTarget', 'remove needs a path')
  // Without one, the names in the value are paths.
  return [...fieldsOf(value)].map(([name, one]) => ({ op, path: parsePath(name), value: one }))
}

/** What is kept of somebody after a change. */
export function changedPerson(person: PersonAttributes, changes: readonly Change[]): PersonAttributes {
  let next = person
  for (const change of changes) next = changeOne(next, change)
  return next
}

function changeOne(person: PersonAttributes, { op, path, value }: Change): PersonAttributes {
  const isGone = op === 'remove'
  const required = (name: string) => {
    if (isGone) throw new ScimError('mutability', `${name} cannot be removed`)
  }
  const text = (name: string, one = value) => (isGone ? null : textOf(name, one))
  switch (path!.attribute) {
    case 'username': {
      required('userName')
      const userName = userNameOf(value)
      // Without an address of its own, it is that of the name.
      const follows = person.email === person.userName.toLowerCase()
      return { ...person, userName, ...(follows && { email: userName.toLowerCase() }) }
    }
    case 'active':
      required('active')
      return { ...person, active: truthOf(value) }
    case 'externalid':
      return { ...person, externalId: text('externalId') }
    case 'displayname':
      return { ...person, displayName: text('displayName') }
    case 'name':
      return changeName(person, path!.sub, isGone ? undefined : value, isGone)
    case 'emails':
      return changeEmail(person, path!, value, isGone)
    default:
      return person
  }
}

function changeName(
  person: PersonAttributes,
  sub: string | undefined,
  value: unknown,
  isGone: boolean,
): PersonAttributes {
  if (sub === 'givenname') return { ...person, givenName: textOf('name.givenName', value) }
  if (sub === 'familyname') return { ...person, familyName: textOf('name.familyName', value) }
  if (sub !== undefined) return person
  if (isGone) return { ...person, givenName: null, familyName: null }
  const name = fieldsOf(value)
  return {
    ...person,
    ...(name.has('givenname') && { givenName: textOf('name.givenName', name.get('givenname')) }),
    ...(name.has('familyname') && { familyName: textOf('name.familyName', name.get('familyname')) }),
  }
}

/** One address is kept, as that of work; changes of others are passed over. */
function changeEmail(
  person: PersonAttributes,
  path: Path,
  value: unknown,
  isGone: boolean,
): PersonAttributes {
  const kept = { value: person.email, type: 'work', primary: true }
  if (path.filter && !matchesFilter(path.filter, kept)) return person
  if (path.sub !== undefined && path.sub !== 'value') return person
  if (isGone) return { ...person, email: person.userName.toLowerCase() }
  const email = typeof value === 'string' ? addressOf('emails', value) : chosenEmail(value)
  return email === undefined ? person : { ...person, email }
}

export function readGroup(body: unknown): GroupAttributes & { readonly members: readonly string[] } {
  const fields = fieldsOf(body)
  return {
    name: groupNameOf(fields.get('displayname')),
    externalId: textOf('externalId', fields.get('externalid')),
    members: memberIds(fields.get('members') ?? []),
  }
}

function groupNameOf(value: unknown): string {
  const name = DisplayName.safeParse(value)
  if (!name.success) throw invalid('displayName', 'must be 1 to 120 characters, without invisible ones')
  return name.data
}

function memberIds(value: unknown): readonly string[] {
  const list = Array.isArray(value) ? value : [value]
  if (list.length > GROUP_MEMBERS_MAX) throw new ScimError('tooMany', `members: at most ${GROUP_MEMBERS_MAX}`)
  const ids = list.map((one) => {
    const id = typeof one === 'string' ? one : fieldsOf(one).get('value')
    if (typeof id !== 'string' || id.length > TEXT_MAX) throw invalid('members', 'each needs a value')
    return id
  })
  return [...new Set(ids)]
}

/** In the order in which they were sent. */
export type GroupStep =
  | { readonly kind: 'rename'; readonly name: string }
  | { readonly kind: 'external_id'; readonly externalId: string | null }
  | { readonly kind: 'add' | 'remove' | 'replace'; readonly ids: readonly string[] }

export const groupSteps = (changes: readonly Change[]): readonly GroupStep[] => changes.flatMap(groupStep)

function groupStep({ op, path, value }: Change): readonly GroupStep[] {
  const isGone = op === 'remove'
  switch (path!.attribute) {
    case 'displayname':
      if (isGone) throw new ScimError('mutability', 'displayName cannot be removed')
      return [{ kind: 'rename', name: groupNameOf(value) }]
    case 'externalid':
      return [{ kind: 'external_id', externalId: isGone ? null : textOf('externalId', value) }]
    case 'members':
      return [memberStep(op, path!, value)]
    default:
      return []
  }
}

function memberStep(op: Change['op'], { filter, sub }: Path, value: unknown): GroupStep {
  if (filter) {
    // `members[value eq "…"]` says whom to remove; nothing else can be done to one who is in it.
    if (op !== 'remove' || sub !== undefined)
      throw new ScimError('invalidPath', 'A member can only be removed')
    return { kind: 'remove', ids: namedIn(filter) }
  }
  if (sub !== undefined && sub !== 'value') throw new ScimError('invalidPath', 'It names no member')
  if (op !== 'remove') return { kind: op, ids: memberIds(value ?? []) }
  // Entra names those whom it removes in the value; without any it is all of them.
  const isAll = value == null || (Array.isArray(value) && value.length === 0)
  return isAll ? { kind: 'replace', ids: [] } : { kind: 'remove', ids: memberIds(value) }
}

function namedIn(filter: Filter): readonly string[] {
  if (filter.op === 'or') return filter.of.flatMap(namedIn)
  if (filter.op === 'eq' && filter.attribute === 'value' && typeof filter.value === 'string')
    return [filter.value]
  throw new ScimError('invalidFilter', 'Members are named by value eq')
}
