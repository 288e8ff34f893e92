/** The authorization server we compare with, set up for the same work: JWT access tokens for one resource, rotation. */
import { oauthProvider } from '@better-auth/oauth-provider'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { jwt } from 'better-auth/plugins'
import pg from 'pg'
import { serve } from '@hono/node-server'

const [port, database] = process.argv.slice(2)
const origin = `http://localhost:${port}`

const auth = betterAuth({
  baseURL: origin,
  secret: 'a secret of the benches, which nobody needs to keep',
  database: new pg.Pool({ connectionString: database, max: 10 }),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
  disabledPaths: ['/token'],
  plugins: [
    jwt(),
    oauthProvider({
      loginPage: '/sign-in',
      consentPage: '/consent',
      scopes: ['data:read', 'maintenance:read', 'offline_access'],
      enforcePerClientResources: false,
      resources: [`${origin}/platform`],
      accessTokenExpiresIn: 3600,
      codeExpiresIn: 600,
      silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
    }),
  ],
})
await (await getMigrations(auth.options)).runMigrations()

const signedUp = await auth.api.signUpEmail({
  body: { email: 'bench@people.test', password: 'a few words for the benches', name: 'Bench' },
  asResponse: true,
})
const cookie = signedUp.headers
  .getSetCookie()
  .map((header) => header.split(';', 1)[0])
  .join('; ')
const client = await auth.api.adminCreateOAuthClient({
  headers: new Headers({ cookie, origin }),
  body: {
    client_name: 'Bench',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1:41997/callback'],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    skip_consent: true,
  },
})
serve({ fetch: auth.handler, port: Number(port), hostname: '127.0.0.1', overrideGlobalObjects: false })
console.log(`ready ${JSON.stringify({ clientId: client.client_id, cookie })}`)
