/**
 * What a verb is made with: a read is given whoever asks, a write is one transaction and says what it leaves in it. Lists
 * are in list.ts.
 */
import { isUniqueViolation, type Transaction } from '../../db/connect.ts'
import type { AuditAction } from '../contracts/audit.ts'
import { ServiceError } from '../contracts/errors.ts'
import type { APP_EVENTS, EventType, TEST_EVENT } from '../contracts/events.ts'
import type { Principal } from '../contracts/operation.ts'
import type { Handler, OperationName } from '../contracts/operations.ts'
import type { Role } from '../contracts/roles.ts'
import { declareRows } from './declared-rows.ts'
import type { Storage } from './dependencies.ts'
import { lockAuthor, type LockedAuthor } from './lock-author.ts'
import { recordEvent, type NewEvent } from './outbox.ts'
import { requireMember, requireUserId, type MemberPrincipal } from './principal.ts'
import { recordAudit, type AuditActor } from './record-audit.ts'
import { withTransaction } from './transaction.ts'

export interface Verb<Name extends OperationName, Deps = unknown> {
  (deps: Storage & Deps): Handler<Name>
  readonly declared: Declared
}

type Declared = { readonly kind: 'read' | 'write' | 'list' } & WriteDeclaration

export type InputOf<Name extends OperationName> = Parameters<Handler<Name>>[1]
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<Handler<Name>>>
type OneOrMore<Value> = Value | readonly Value[]
type OneOf<Given> = Given extends readonly (infer Value)[] ? Value : Given

/** As whom the verb sees whoever calls. `principal`: the operator, an app token, or whoever it finds out by itself. */
export type By = 'member' | 'person' | 'principal'
export type Seen<Who extends By, Member = MemberPrincipal> = {
  readonly principal: Principal
} & (Who extends 'member'
  ? { readonly member: Member; readonly orgId: string; readonly userId: string }
  : Who extends 'person'
    ? { readonly userId: string }
    : unknown)
export type ByOf<D> = D extends { readonly by: infer Who extends By } ? Who : 'member'

type WriteDeclaration = {
  /** A member if nothing else is said. */
  readonly by?: By
  /** The least role, read again under the author's lock before anything else; `update` as in lock-author.ts. */
  readonly author?: Role | readonly [Role, 'update']
  /** What it may write to the audit trail. */
  readonly audit?: OneOrMore<AuditAction>
  readonly events?: OneOrMore<EventType | typeof TEST_EVENT | typeof APP_EVENTS>
  /** What to answer when a unique index, by its name, refuses the row. */
  readonly taken?: Readonly<Record<string, string>>
}

/** By the principal, in their organization and now, unless it says otherwise. */
type OtherAudit = { readonly orgId?: string; readonly as?: AuditActor; readonly at?: Date }

/** `db` is the transaction, too: the context is what functions with dependencies of their own are given. */
type Writing<D extends WriteDeclaration> = Omit<Storage, 'db'> & {
  readonly db: Transaction
  readonly tx: Transaction
} & Seen<
    ByOf<D>,
    D extends { readonly author: unknown } ? LockedAuthor<MemberPrincipal> : MemberPrincipal
  > & {
    readonly audit: (
      action: OneOf<NonNullable<D['audit']>>,
      subject?: string,
      other?: OtherAudit,
    ) => Promise<void>
    readonly event: (event: NewEvent & { readonly type: OneOf<NonNullable<D['events']>> }) => Promise<string>
  }

/** All of it is one transaction, which begins with the author's lock. */
export function write<Name extends OperationName, Deps, const D extends WriteDeclaration>(
  declared: D,
  work: (context: Omit<Deps, 'db'> & Writing<D>, input: InputOf<Name>) => Promise<OutputOf<Name>>,
): Verb<Name, Deps> {
  const verb = (deps: Storage & Deps) => async (principal: Principal, input: InputOf<Name>) =>
    inTransaction<OutputOf<Name>>(deps, declared, principal, (written) =>
      work({ ...deps, ...written } as unknown as Parameters<typeof work>[0], input),
    )
  return declaring<Name, Deps>(verb, { kind: 'write', ...declared })
}

export type InSteps<D extends WriteDeclaration> = Storage &
  Seen<ByOf<D>> & {
    readonly transaction: <Result>(step: (written: Writing<D>) => Promise<Result>) => Promise<Result>
  }

/** Something slow comes before or after its transaction: an address that is tried, a mail. */
export function writeInSteps<Name extends OperationName, Deps, const D extends WriteDeclaration>(
  declared: D,
  work: (context: Deps & InSteps<D>, input: InputOf<Name>) => Promise<OutputOf<Name>>,
): Verb<Name, Deps> {
  const verb = (deps: Storage & Deps) => async (principal: Principal, input: InputOf<Name>) => {
    const context = {
      ...deps,
      ...seenBy(declared.by ?? 'member', principal),
      transaction: (step: (written: never) => Promise<unknown>) =>
        inTransaction(deps, declared, principal, step as (written: object) => Promise<unknown>),
    }
    return work(context as unknown as Parameters<typeof work>[0], input)
  }
  return declaring<Name, Deps>(verb, { kind: 'write', ...declared })
}

async function inTransaction<Result>(
  { db, clock }: Storage,
  { by = 'member', author, audit = [], events = [], taken = {} }: WriteDeclaration,
  principal: Principal,
  work: (written: object) => Promise<Result>,
): Promise<Result> {
  try {
    return await withTransaction(db, async (tx) => {
      // In the transaction of somebody else, who declares what all of it leaves.
      if (tx !== db) declareRows(db, tx, { audit: [audit].flat(), events: [events].flat() })
      const seen = seenBy(by, principal)
      const [role, strength] = typeof author === 'object' ? author : [author]
      return work({
        ...seen,
        ...(role && { member: await lockAuthor(tx, clock, requireMember(principal), role, strength) }),
        db: tx,
        tx,
        clock,
        audit: (action: AuditAction, subject?: string, { orgId, as = principal, at }: OtherAudit = {}) =>
          recordAudit(tx, at ? () => at : clock, as, {
            orgId: orgId ?? requireOrganization(principal),
            action,
            ...(subject !== undefined && { subject }),
          }),
        event: (event: NewEvent) => recordEvent(tx, clock, event),
      })
    })
  } catch (error) {
    const index = Object.keys(taken).find((each) => isUniqueViolation(error, each))
    throw index === undefined ? error : new ServiceError('CONFLICT', taken[index])
  }
}

type Reading<Name extends OperationName, Deps, Who extends By> = (
  context: Storage & Deps & Seen<Who>,
  input: InputOf<Name>,
) => Promise<OutputOf<Name>>

/** As a member if nothing else is said. */
export function read<Name extends OperationName, Deps>(work: Reading<Name, Deps, 'member'>): Verb<Name, Deps>
export function read<Name extends OperationName, Deps, Who extends By>(
  by: Who,
  work: Reading<Name, Deps, Who>,
): Verb<Name, Deps>
export function read<Name extends OperationName, Deps>(
  ...given: [By, Reading<Name, Deps, By>] | [Reading<Name, Deps, By>]
): Verb<Name, Deps> {
  const [by, work] = given.length === 1 ? (['member', given[0]] as const) : given
  const verb = (deps: Storage & Deps) => async (principal: Principal, input: InputOf<Name>) =>
    work({ ...deps, ...seenBy(by, principal) }, input)
  return declaring<Name, Deps>(verb, { kind: 'read', by })
}

export function seenBy(by: By, principal: Principal) {
  if (by === 'principal') return { principal }
  if (by === 'person') return { principal, userId: requireUserId(principal) }
  const member = requireMember(principal)
  return { principal, member, orgId: member.orgId, userId: member.userId }
}

function requireOrganization({ orgId }: Principal): string {
  if (orgId === null) throw new Error('a row of the audit trail without an organization')
  return orgId
}

export const declaring = <Name extends OperationName, Deps>(
  verb: object,
  declared: Declared,
): Verb<Name, Deps> => Object.assign(verb, { declared }) as Verb<Name, Deps>
