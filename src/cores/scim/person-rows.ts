/** Provisioned people as they are stored and sent. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq, inArray, isNull } from '../../../db/drizzle.ts'
import { organizationDomains, provisionedPeople as people } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import { idPattern } from '../../contracts/ids.ts'
import { SCIM_URN } from '../../contracts/scim-resources.ts'
import type { PersonAttributes } from './read-resource.ts'
import { ScimError } from './scim-error.ts'

export type PersonRow = typeof people.$inferSelect

const PERSON_ID = idPattern('scp')

export const isPerson = (orgId: string, id: string) =>
  and(eq(people.orgId, orgId), eq(people.id, id), isNull(people.deletedAt))

/** Unknown, deleted and another organization's answer alike. */
export async function lockPerson(tx: Transaction, orgId: string, id: string): Promise<PersonRow> {
  const [row] = PERSON_ID.test(id)
    ? await tx.select().from(people).where(isPerson(orgId, id)).for('update')
    : []
  if (!row) throw notFound()
  return row
}

export const presentPerson = (row: PersonRow, base: string) => ({
  schemas: [SCIM_URN.user],
  id: row.id,
  ...(row.externalId !== null && { externalId: row.externalId }),
  userName: row.userName,
  ...(row.displayName !== null && { displayName: row.displayName }),
  ...((row.givenName !== null || row.familyName !== null) && {
    name: {
      ...(row.givenName !== null && { givenName: row.givenName }),
      ...(row.familyName !== null && { familyName: row.familyName }),
    },
  }),
  emails: [{ value: row.email, type: 'work', primary: true }],
  active: row.active,
  meta: {
    resourceType: 'User',
    created: row.createdAt.toISOString(),
    lastModified: row.updatedAt.toISOString(),
    location: `${base}/Users/${row.id}`,
  },
})

export const attributesOf = (row: PersonRow): PersonAttributes => ({
  userName: row.userName,
  email: row.email,
  externalId: row.externalId,
  displayName: row.displayName,
  givenName: row.givenName,
  familyName: row.familyName,
  active: row.active,
})

const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase()

/** Whether the domain of the address is one that the operator gave the organization, at this moment. */
export async function isOwnAddress(db: Handle, orgId: string, email: string): Promise<boolean> {
  const [found] = await db
    .select({ domain: organizationDomains.domain })
    .from(organizationDomains)
    .where(and(eq(organizationDomains.orgId, orgId), eq(organizationDomains.domain, domainOf(email))))
  return found !== undefined
}

export async function requireOwnAddresses(
  tx: Transaction,
  orgId: string,
  { userName, email }: PersonAttributes,
): Promise<void> {
  const asked = [...new Set([domainOf(userName), domainOf(email)])]
  const own = await tx
    .select({ domain: organizationDomains.domain })
    .from(organizationDomains)
    // Held: the operator may take the domain away at this moment.
    .where(and(eq(organizationDomains.orgId, orgId), inArray(organizationDomains.domain, asked)))
    .for('share')
  if (own.length === asked.length) return
  throw new ScimError('invalidValue', 'The address is in no email domain of the organization')
}
