/**
 * Who belongs to an organization, for those who do not run the auth service: read from our own tables, or with hosted auth
 * from what the vendor last validated. Never joined with tenant tables (decisions, 9), and nothing is kept: a right is
 * read right before it is used.
 */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { atLeast, ROLES, type Role } from '../../contracts/roles.ts'
import type { MemberPrincipal } from '../principal.ts'

export type MemberKey = { readonly orgId: string; readonly userId: string }

export type Member = {
  readonly role: Role
  readonly name: string
  /** Null unless it is verified. */
  readonly email: string | null
  /** Roles on apps carry it, and are void with another one. */
  readonly membershipId: string
  /** False: whether they still belong to the organization was last known too long ago to send them anything. */
  readonly isCurrent: boolean
}

/** `role` is at most that of the call. `appMembershipId` is the membership whose roles on apps count; null: none do. */
export type Membership = { readonly role: Role; readonly appMembershipId: string | null }

export type AddressHolder = 'member' | 'former' | 'not_current' | 'nobody'

type Acting = Pick<MemberPrincipal, 'orgId' | 'userId' | 'role' | 'carriesAppRoles' | 'supportSessionId'>

export type Directory = {
  /** What the principal acts with; null: it is nobody's membership, as for support staff. */
  readMembership(db: Handle, principal: Acting): Promise<Membership | null>
  /** By `memberKey`; who is not a member is not in it. */
  readMembers(db: Handle, keys: readonly MemberKey[]): Promise<ReadonlyMap<string, Member>>
  /** Locked until the end of the transaction, where membership can end here. */
  lockMember(
    tx: Transaction,
    key: MemberKey,
  ): Promise<Pick<Member, 'name' | 'email' | 'membershipId'> | undefined>
  /** Who has verified this address, in lower case; undefined: no member. */
  findMember(
    db: Handle,
    at: { readonly orgId: string; readonly email: string },
  ): Promise<MemberKey | undefined>
  /** By their ids; those that were removed are not in it. */
  readMachineAgents(
    db: Handle,
    orgId: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly userId: string; readonly name: string }>>
  /** Owners and admins. */
  readAdmins(db: Handle, orgId: string): Promise<readonly (Member & MemberKey)[]>
  /** By user id; also those who are not members any more, while they are known. */
  readPeople(
    db: Handle,
    keys: readonly MemberKey[],
  ): Promise<ReadonlyMap<string, { readonly name: string; readonly email: string | null }>>
  /** Who verified this address: a member, somebody who left after `since`, somebody of whom it is not known, or nobody. */
  readAddressHolder(
    db: Handle,
    at: { readonly orgId: string; readonly email: string; readonly since: Date },
  ): Promise<AddressHolder>
  /** The verified addresses that somebody had when their membership ended; none of a member. */
  readFormerEmails(db: Handle, key: MemberKey): Promise<readonly string[]>
  readOrganization(
    db: Handle,
    orgId: string,
  ): Promise<{ readonly name: string; readonly timezone: string } | undefined>
}

export type WithDirectory = { readonly directory: Directory }

export const memberKey = ({ orgId, userId }: MemberKey): string => `${orgId} ${userId}`

/** A batch has many deliveries of one person. */
export const uniqueKeys = (keys: readonly MemberKey[]): MemberKey[] => [
  ...new Map(keys.map(({ orgId, userId }) => [memberKey({ orgId, userId }), { orgId, userId }])).values(),
]

export const ADMIN_ROLES = ROLES.filter((role) => atLeast(role, 'admin'))
