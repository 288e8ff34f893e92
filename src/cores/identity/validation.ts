/** What validations of every kind of credential share: what they are given, what they answer, and how they refuse. */
import { organizations, type users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Role } from '../../contracts/roles.ts'
import type { Audience } from '../../contracts/scopes.ts'
import type { PersonValidation, WorkloadValidation } from '../../contracts/tokens.ts'
import type { ActorAssertions } from '../../trust/actor-assertion.ts'
import type { WithWorkloads } from '../workloads/index.ts'
import type { CliDeps } from './cli-sessions.ts'
import type { SessionDeps } from './start-session.ts'

export type ValidationDeps = SessionDeps &
  CliDeps &
  WithWorkloads & {
    /** Undefined where no MCP server belongs to this installation. */
    readonly actorAssertions: ActorAssertions | undefined
    readonly keyEpoch: string
    readonly enterpriseAuth: boolean
    readonly mcpCallsPerMinute: number
  }

export type Presented = {
  token: string
  /** Id or slug of the organization that the request names. */
  organization?: string | undefined
  /** Whether to list all organizations of a person as well. */
  organizations?: boolean | undefined
  audience?: Audience | undefined
  requestId: string
  /** Of whoever shows it. */
  address: string
}

/** With the generation of a session, which stays inside the auth service. */
export type TokenValidation =
  | (PersonValidation & { session_generation?: number | undefined })
  | WorkloadValidation

/** "Last used" is for people who tidy up: a minute is precise enough, and most calls then write nothing. */
const LAST_USED_PRECISION_MS = 60_000

export const isStale = (lastUsedAt: Date | null, now: Date): boolean =>
  lastUsedAt === null || now.getTime() - lastUsedAt.getTime() > LAST_USED_PRECISION_MS

export const refused = () => new ServiceError('UNAUTHENTICATED')

export const ORGANIZATION_COLUMNS = {
  id: organizations.id,
  name: organizations.name,
  slug: organizations.slug,
  agentsEnabled: organizations.agentsEnabled,
  timezone: organizations.timezone,
}

/** What an installation with hosted auth knows of its members, because it has no rows of them. */
export const presentMembership = (
  id: string,
  role: Role,
  user: Pick<typeof users.$inferSelect, 'emailVerifiedAt'>,
  timezone: string,
) => ({
  id,
  role,
  email_verified: user.emailVerifiedAt !== null,
  timezone,
})

/** Any organization but the token's own does not exist for it. */
export function matchOrganization(
  {
    organization,
    role,
    membership,
  }: Pick<PersonValidation, 'membership'> & {
    organization: NonNullable<PersonValidation['organization']>
    role: Role
  },
  requested: string | undefined,
) {
  const isRequested =
    requested === undefined || requested === organization.id || requested === organization.slug
  return isRequested ? { organization, role, membership } : { organization: null, role: null }
}
