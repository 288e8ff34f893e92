/** Who the subjects of the identity provider are, newest first. */
import { eq } from '../../../db/drizzle.ts'
import { identityLinks, users } from '../../../db/schema.ts'
import { list, type Verb } from '../list.ts'
import { LINK_COLUMNS, presentLink } from './identity-links.ts'
import { findProvider } from './provider-rows.ts'

export const listIdentityLinks: Verb<'listIdentityLinks'> = list(
  { rows: 'links', desc: [identityLinks.id], search: [identityLinks.subject, users.name, users.email] },
  async ({ db, orgId, page }) => {
    const { id } = await findProvider(db, orgId)
    return page({
      from: () =>
        db.select(LINK_COLUMNS).from(identityLinks).innerJoin(users, eq(users.id, identityLinks.userId)),
      where: eq(identityLinks.providerId, id),
      key: ({ link }) => [link.id],
      present: (rows) => rows.map(presentLink),
    })
  },
)
