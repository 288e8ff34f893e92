/**
 * The system of a walk, with the auth service at a vendor's: an installation with hosted auth, and the vendor it validates
 * tokens at, each with a database of its own. Walks do not notice: rows of people are written where people are known.
 */
import { getTableName } from '../../db/drizzle.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { createOrganization, createOrganizationAsOperator } from '../../src/contracts/organizations.ts'
import type { Service } from '../../src/client/service.ts'
import { SERVICE_NAMES } from '../../src/boot/config.ts'
import type { System } from '../../src/boot/system.ts'
import type { TestDatabase } from './database.ts'

const VENDOR_DOMAIN = 'vendor.test'

/** An organization that nobody has: HOSTED_ORGS may not be empty, and walks make theirs later. */
const NOBODYS = makeId('org', 0)

type Env = Record<string, string>

/** What a walk that asked for `env` starts at the vendor's, and what at the customer's. */
export function splitSettings(env: Env): { vendor: Env; customer: Env } {
  const services = env['SVC_SERVICES']?.split(',') ?? SERVICE_NAMES
  const { PASSWORD_SIGN_IN = '', SVC_OPERATOR_TOKEN, ORGANIZATIONS_PER_PERSON } = env
  return {
    vendor: {
      SVC_SERVICES: 'api-gateway,auth-service',
      BASE_DOMAIN: VENDOR_DOMAIN,
      PASSWORD_SIGN_IN,
      ...(SVC_OPERATOR_TOKEN === undefined ? {} : { SVC_OPERATOR_TOKEN }),
      ...(ORGANIZATIONS_PER_PERSON === undefined ? {} : { ORGANIZATIONS_PER_PERSON }),
    },
    customer: {
      ...env,
      SVC_SERVICES: services.filter((name) => name !== 'auth-service').join(),
      AUTH_MODE: 'hosted',
      AUTH_SERVICE_URL: `https://auth.${VENDOR_DOMAIN}`,
      AUTH_LOGIN_URL: `https://app.${VENDOR_DOMAIN}/auth/sign-in`,
      HOSTED_ORGS: NOBODYS,
      JWT_SECRET: '',
      JWT_SIGNING_KEY: '',
    },
  }
}

/** The vendor behind its address. It is told where a request came from: throttles count by that. */
export const reaching =
  (other: () => Service) =>
  (base: URL): Service =>
  (request) => {
    const { pathname, search } = new URL(request.url)
    return other()(new Request(new URL(pathname + search, base), request))
  }

const FOUNDING = [createOrganization.http.path, createOrganizationAsOperator.http.path] as readonly string[]

/** Every organization that is founded is served, as if HOSTED_ORGS named it. */
export const servingFounded =
  (vendor: Service, customer: () => System): Service =>
  async (request) => {
    const response = await vendor(request)
    if (response.status === 201 && FOUNDING.includes(new URL(request.url).pathname)) {
      const { id } = (await response.clone().json()) as { id: string }
      ;(customer().gateway!.hosted!.servedOrganizations as Set<string>).add(id)
    }
    return response
  }

/**
 * Organizations are founded at the vendor's: at the customer's, whoever has none is refused. So is the operator, whose token
 * the customer's gateway never shows to the vendor.
 */
export const isForVendor = (request: Request): boolean =>
  FOR_VENDOR.some(({ method, path }) => request.method === method && path.test(new URL(request.url).pathname))

const FOR_VENDOR = OPERATIONS.filter(
  ({ name, service, access }) =>
    name === 'createOrganization' || (service === 'auth-service' && access === 'operator'),
).map(({ http }) => ({
  method: http.method.toUpperCase(),
  path: new RegExp(`^${http.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

const OF_PEOPLE: ReadonlySet<string> = new Set([
  'api_tokens',
  'former_members',
  'identities',
  'invitations',
  'mailed_links',
  'memberships',
  'oauth_artifacts',
  'organization_client_blocks',
  'organization_domains',
  'organizations',
  'passwords',
  'platform_access_grants',
  'platform_oauth_clients',
  'sessions',
  'sign_in_attempts',
  'sign_in_codes',
  'support_sessions',
  'users',
])

type Db = TestDatabase['db']
type Table = Parameters<Db['insert']>[0]

/** For the rows that walks write and read past the API: those of people are the vendor's, all others the customer's. */
export function splitDatabase(customer: Db, vendor: Db): Db {
  const of = (table: Table) => (OF_PEOPLE.has(getTableName(table)) ? vendor : customer)
  return new Proxy(customer, {
    get(target, name, receiver) {
      if (name === 'insert') return (table: Table) => of(table).insert(table)
      if (name === 'update') return (table: Table) => of(table).update(table)
      if (name === 'delete') return (table: Table) => of(table).delete(table)
      if (name === 'select') {
        return (...fields: Parameters<Db['select']>) => ({
          from: (table: Table) =>
            of(table)
              .select(...fields)
              .from(table),
        })
      }
      return Reflect.get(target, name, receiver) as unknown
    },
  })
}
