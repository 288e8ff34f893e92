import { and, count, eq, isNull, sql } from '../../../db/drizzle.ts'
import { provisionedPeople as people, scimBearers } from '../../../db/schema.ts'
import { listDomains } from '../organizations/index.ts'
import { read, type Verb } from '../verb.ts'
import { baseUrl, bearerOf, presentBearer } from './bearer-rows.ts'
import type { ScimDeps } from './dependencies.ts'
import { presentSignInProvider } from './present-sign-in-provider.ts'

export const showScim: Verb<'showScim', ScimDeps> = read(async ({ db, clock, orgId, issuer, providers }) => {
  const [bearer] = await db.select().from(scimBearers).where(bearerOf(orgId))
  const [counts] = await db
    .select({
      active: sql<number>`count(*) filter (where ${people.active})`.mapWith(Number),
      waiting: sql<number>`count(*) filter (where ${people.active} and ${people.userId} is null)`.mapWith(
        Number,
      ),
      all: count(),
    })
    .from(people)
    .where(and(eq(people.orgId, orgId), isNull(people.deletedAt)))
  const { active, waiting, all } = counts!
  return {
    base_url: baseUrl(issuer),
    domains: await listDomains(db, orgId),
    providers: providers.map(presentSignInProvider),
    bearer: bearer ? presentBearer(bearer, clock()) : null,
    people: { active, waiting, inactive: all - active },
  }
})
