/** A rotated secret ends what the table of credential kinds says, and nothing else: the same database, started anew. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from '../../db/drizzle.ts'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { appTokens, installationFacts, machineAgentCredentials, subscriptions } from '../../db/schema.ts'
import { readConfig } from '../../src/boot/config.ts'
import { endAppTokens } from '../../src/boot/database-commands.ts'
import { openJournal } from '../../src/boot/open-journal.ts'
import { AGENT_CALL_PATH } from '../../src/contracts/agent-calls.ts'
import { createAppToken, listAppTokens, rotateAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp } from '../../src/contracts/apps.ts'
import {
  CREDENTIAL_KINDS,
  ROTATED_SECRETS,
  type CredentialKind,
  type RotatedSecret,
} from '../../src/contracts/credential-kinds.ts'
import { makeId } from '../../src/contracts/ids.ts'
import {
  addMachineAgentCredential,
  rotateMachineAgentCredential,
  showMachineAgent,
} from '../../src/contracts/machine-agents.ts'
import { listOrganizationsAsOperator } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import { claimPipelineRun } from '../../src/contracts/pipelines.ts'
import { exchangeSignInCode } from '../../src/contracts/sessions.ts'
import { showUnsubscribe } from '../../src/contracts/subscriptions.ts'
import { listApiTokens, rotateApiToken } from '../../src/contracts/tokens.ts'
import { bindServiceAccount } from '../../src/contracts/workloads.ts'
import { endLost, recordRestore } from '../../src/cores/endings/index.ts'
import { beginInstallationEpoch, endInstallationEpoch, readKeyEpoch } from '../../src/cores/key-epoch.ts'
import { readTimeline } from '../../src/cores/timeline.ts'
import { unsubscribeToken } from '../../src/cores/notifications/subscriptions/unsubscribe-token.ts'
import { agentRunnerTokens } from '../../src/trust/agent-runner-token.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { runIdentities } from '../../src/trust/run-identity.ts'
import { actorOf, signActor } from '../support/actor.ts'
import {
  newAssistant,
  preRegistered,
  startListeningSystem,
  whoami,
  type ListeningSystem,
} from '../support/assistant.ts'
import { newDatabase } from '../support/database.ts'
import { startFakeApiServer, type FakeApiServer } from '../support/fake-api-server.ts'
import {
  poll,
  renew,
  signInCli,
  signedInWalker,
  startDevice,
  typeCode,
  decideOn,
} from '../support/cli-login.ts'
import { freePort } from '../support/free-port.ts'
import { invitation, resetLink } from '../support/links.ts'
import { basic, comesIn, makeMachineAgent, type MachineAgent } from '../support/machine-agents.ts'
import { realClock } from '../support/process.ts'
import {
  makeApiToken,
  makeOrganization,
  makePerson,
  PASSWORD,
  signedIn,
  unique,
  type Org,
} from '../support/make.ts'
import { freshSecrets, OPERATOR_TOKEN, START_MS } from '../support/system.ts'
import { directoryOf, insertScimBearer } from '../support/scim.ts'
import { newWalker, signInOnPage } from '../support/walker.ts'

const hex = () => randomBytes(32).toString('hex')
const SECRETS: Record<RotatedSecret, string> = {
  ...freshSecrets(),
  AGENT_RUNNER_SECRET: hex(),
  SVC_OPERATOR_TOKEN: OPERATOR_TOKEN,
}
const namespaces = new Map<string, string[]>()

/** The first start loads everything, on a busy machine for long. */
const PATIENCE = 120_000
const ROTATIONS = inject('everyCase')
  ? [undefined, ...ROTATED_SECRETS]
  : ([undefined, 'JWT_SECRET', 'DATA_KEY'] as const)

let cluster: FakeApiServer
let port: string
/** For each rotation its own: some are used up by being tried. */
const held = new Map<RotatedSecret | undefined, Attempts>()
beforeAll(async () => {
  cluster = await startFakeApiServer(() => new Date(START_MS + 60_000))
  port = String(await freePort())
  await running({}, async (before) => {
    for (const secret of ROTATIONS) held.set(secret, await holdings(before))
  })
}, PATIENCE)
afterAll(() => cluster.close())

/** Stopped also after a failure, for the next one has the same port. */
async function running(
  changed: Partial<Record<RotatedSecret, string>>,
  work: (system: ListeningSystem) => Promise<void>,
): Promise<void> {
  const system = await start(changed)
  try {
    await work(system)
  } finally {
    await system.stop()
  }
}

const start = (changed: Partial<Record<RotatedSecret, string>> = {}) =>
  startListeningSystem(
    {
      PORT: port,
      SVC_SERVICES: 'api-gateway,auth-service,deploy-api,mcp-server',
      ...cluster.settings,
      ...SECRETS,
      ...changed,
    },
    { withMail: true, workloadNamespaces: namespaces },
  )

const works = (attempt: Promise<unknown>): Promise<boolean> =>
  attempt.then(
    () => true,
    () => false,
  )

type Attempts = Record<CredentialKind, (system: ListeningSystem) => Promise<boolean>>

/** One of every kind, each with the question whether a system still takes it. */
async function holdings(before: ListeningSystem): Promise<Attempts> {
  const org = await makeOrganization(before)
  const { owner } = org
  const alias = unique('shop')
  await owner.call(createApp, { alias, name: 'Shop' })
  const apiToken = await makeApiToken(before, org, owner)
  const { token: userToken } = await signedIn(before, owner.email)
  const assertion = await signActor(before, actorOf(org, owner, apiToken.id))
  const invited = await invitation(before, { org })
  // Of somebody else: using it ends the sessions of its person.
  const reset = await resetLink(before, (await makePerson(before)).email)
  const browser = newWalker(before, { overSockets: true })
  await signInOnPage(browser, owner.email)
  const back = await browser.open(
    `/auth/sign-in?${new URLSearchParams({ return_to: `${before.origin}/console` })}`,
  )
  const code = back.location?.searchParams.get('code') ?? ''
  const cli = await signInCli(before, org, owner)
  const device = await startDevice(before)
  const approver = await signedInWalker(before, owner)
  await decideOn(approver, await typeCode(approver, device.userCode), 'approve', org.id)
  const agent = await makeMachineAgent(owner)
  const connected = await newAssistant(before, await preRegistered(before)).connect(owner)
  const appToken = await owner.call(createAppToken, { alias, name: 'worker', scope: 'apps:report' })
  const { token: bearer } = await insertScimBearer(before, org)
  const namespace = unique('ns')
  namespaces.set(org.id, [namespace])
  cluster.addAccount(namespace, 'worker', { 'svc.dev/org': org.id })
  await owner.call(bindServiceAccount, { alias, namespace, service_account: 'worker' })
  const workload = await cluster.mint(namespace, 'worker')
  const keys = dataKeys(SECRETS.DATA_KEY)
  const run = await runIdentities(keys.keyFor('run-identity')).sign(
    {
      orgId: org.id,
      appId: makeId('app', START_MS),
      executionId: makeId('exec', START_MS),
      fence: 1,
      baseRevisionId: null,
      model: 'none',
      startedAt: new Date(START_MS),
    },
    before.clock.now(),
    600,
  )
  const runner = await agentRunnerTokens(SECRETS.AGENT_RUNNER_SECRET).sign('tool-host', before.clock.now())
  const subscriptionId = makeId('sub', START_MS)
  const mailed = {
    orgId: org.id,
    userId: owner.userId,
    pattern: 'deploy.failed',
    timing: 'immediately',
  } as const
  await before.db
    .insert(subscriptions)
    .values({ ...mailed, id: subscriptionId, enabled: true, createdAt: before.clock.now() })
  const unsubscribe = unsubscribeToken(keys.keyFor('unsubscribe'), {
    orgId: org.id,
    subscriptionId,
    mailbox: null,
  })
  const claim = { alias, worker: 'w', pipelines: ['nightly'] }

  return {
    session: (system) => works(system.as({ token: userToken })(whoAmI, {})),
    // Both of its tokens.
    cli_session: async (system) =>
      (await works(system.as({ token: cli.access })(whoAmI, {}))) &&
      (await renew(system, cli.refresh)).status === 200,
    cli_login: async (system) => (await poll(system, device.deviceCode)).status === 200,
    browser_session: async (system) => {
      const again = newWalker(system, { overSockets: true })
      for (const { name, value } of browser.jar.all())
        again.jar.keep(`${name}=${value}; Path=/`, system.origin)
      return (await again.open('/auth/sign-in')).status === 303
    },
    sign_in_code: (system) => works(system.as()(exchangeSignInCode, { code })),
    mailed_link: async (system) => {
      const walker = newWalker(system, { overSockets: true })
      return (await walker.submit(await walker.open(reset), 'Save', { password: PASSWORD })).status === 200
    },
    invitation: async (system) =>
      (await newWalker(system, { overSockets: true }).open(invited.link)).status === 200,
    api_token: (system) => works(system.as({ token: apiToken.token })(whoAmI, {})),
    grant: async (system) => (await whoami(system, connected.access)).status === 200,
    machine_credential: async (system) => (await comesIn(system, basic(agent))).status === 200,
    app_token: (system) => works(system.as({ token: appToken.token })(claimPipelineRun, claim)),
    scim_bearer: async (system) => (await directoryOf(system, bearer)('GET', '/Users')).status === 200,
    assertion: (system) => works(system.as({ token: assertion })(whoAmI, {})),
    operator_token: (system) =>
      works(system.as({ token: OPERATOR_TOKEN })(listOrganizationsAsOperator, { limit: 1 })),
    run_token: (system) => isKnownAgent(system, 'renewRun', run),
    agent_runner_token: (system) => isKnownAgent(system, 'claimRun', runner),
    unsubscribe_link: async (system) =>
      (await system.as()(showUnsubscribe, { token: unsubscribe })).pattern === mailed.pattern,
    workload: (system) => works(system.as({ token: workload })(claimPipelineRun, claim)),
  }
}

/** Whoever is known is told that the body is none; whoever is not, nothing. */
async function isKnownAgent(system: ListeningSystem, call: string, token: string): Promise<boolean> {
  const deploy = system.system.services.get('deploy-api')!
  const headers = { authorization: `Bearer ${token}` }
  const url = `${system.origin}${AGENT_CALL_PATH}/${call}`
  const { status } = await deploy(new Request(url, { method: 'POST', headers, body: 'none' }))
  expect([400, 401]).toContain(status)
  return status === 400
}

const taken = async (kinds: Attempts, system: ListeningSystem) => {
  const answers: Partial<Record<CredentialKind, boolean>> = {}
  for (const kind of Object.keys(kinds) as CredentialKind[]) answers[kind] = await kinds[kind](system)
  return answers
}

/** What the table says of each kind. */
const expected = (secret: RotatedSecret | undefined) =>
  Object.fromEntries(
    Object.entries(CREDENTIAL_KINDS).map(([kind, { secrets }]) => [
      kind,
      !(secrets as readonly string[]).includes(secret ?? ''),
    ]),
  )

describe.each(ROTATIONS)('after a rotation of %s', (secret) => {
  test(
    'every kind is taken or refused as the table has it',
    () =>
      running(secret === undefined ? {} : { [secret]: hex() }, async (after) => {
        expect(await taken(held.get(secret)!, after)).toEqual(expected(secret))
      }),
    PATIENCE,
  )
})

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: { code?: unknown }) => error.code,
  )

test('what a rotation ended is in no list, gets no new value, and a machine agent goes on with a new secret', async () => {
  let [org, alias, agent]: [Org?, string?, MachineAgent?] = []
  const ids = { app: '', api: '', secret: '' }
  /** Also those that were still good after they had been rotated out. */
  const values = { app: [] as string[], api: [] as string[] }
  const reports = (system: ListeningSystem, token: string) =>
    system.as({ token })(claimPipelineRun, { alias: alias!, worker: 'w', pipelines: ['none'] })
  await running({}, async (before) => {
    org = await makeOrganization(before)
    const { call } = org.owner
    ;[alias, agent] = [unique('shop'), await makeMachineAgent(org.owner)]
    ids.secret = agent.credentials[0]!.id
    await call(createApp, { alias, name: 'Shop' })
    const app = await call(createAppToken, { alias, name: 'old', scope: 'apps:report' })
    const api = await makeApiToken(before, org, org.owner)
    Object.assign(ids, { app: app.id, api: api.id })
    values.app.push(app.token, (await call(rotateAppToken, { alias, token_id: app.id })).token)
    values.api.push(api.token, (await call(rotateApiToken, { token_id: api.id })).token)
    for (const token of values.app) await reports(before, token)
    for (const token of values.api) await before.as({ token })(whoAmI, {})
  })
  await running({ JWT_SECRET: hex() }, async (after) => {
    const { call } = await signedIn(after, org!.owner.email)
    expect((await call(listAppTokens, { alias: alias! })).tokens).toEqual([])
    expect((await call(listApiTokens, { all: 'true' })).tokens).toEqual([])
    const { id: machine_agent_id, client_id } = agent!
    const attempts = [
      call(rotateAppToken, { alias: alias!, token_id: ids.app }),
      call(rotateApiToken, { token_id: ids.api }),
      call(rotateMachineAgentCredential, { machine_agent_id, credential_id: ids.secret }),
      ...values.app.map((token) => reports(after, token)),
      ...values.api.map((token) => after.as({ token })(whoAmI, {})),
    ]
    expect(await Promise.all(attempts.map(codeOf))).toEqual([
      ...Array(3).fill('NOT_FOUND'),
      ...Array(4).fill('UNAUTHENTICATED'),
    ])
    expect(await call(showMachineAgent, { machine_agent_id })).toMatchObject({
      state: 'no_credentials',
      credentials: [],
    })
    const { secret } = await call(addMachineAgentCredential, { machine_agent_id })
    expect((await comesIn(after, basic({ client_id, secret: secret! }))).status).toBe(200)
  })
})

test.runIf(inject('everyCase'))(
  'what was made before this was kept goes on at the first start, and ends with the next rotation',
  async () => {
    let kinds: Attempts | undefined
    const both = async (system: ListeningSystem) => [
      await kinds!.app_token(system),
      await kinds!.machine_credential(system),
    ]
    await running({}, async (before) => {
      kinds = await holdings(before)
      // As a version left them that knows of no epoch.
      await before.db.delete(installationFacts).where(eq(installationFacts.name, 'key_epoch'))
      await before.db.update(appTokens).set({ keyEpoch: null })
      await before.db.update(machineAgentCredentials).set({ keyEpoch: null })
      expect(await both(before)).toEqual([true, true])
    })
    await running({}, async (first) => expect(await both(first)).toEqual([true, true]))
    await running({ JWT_SIGNING_KEY: hex() }, async (rotated) =>
      expect(await both(rotated)).toEqual([false, false]),
    )
  },
)

test.runIf(inject('everyCase'))('the command of an installation with hosted auth ends every app token', () =>
  running({}, async (system) => {
    const { app_token } = await holdings(system)
    expect(await app_token(system)).toBe(true)
    await endInstallationEpoch(system.db)
    expect(await app_token(system)).toBe(false)
  }),
)

// The embedded database has no standby that could lose it.
test.skipIf(inject('engine') === 'pglite')(
  'and no failover brings them back where there is a journal, only a restore that is recorded',
  async () => {
    const { db, url, close } = await newDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'svc-rotation-'))
    onTestFinished(async () => {
      await close()
      await rm(folder, { recursive: true })
    })
    const config = readConfig({
      AUTH_MODE: 'hosted',
      AUTH_SERVICE_URL: 'https://auth.vendor.test',
      AUTH_LOGIN_URL: 'https://vendor.test/login',
      HOSTED_ORGS: `org_${'0'.repeat(25)}`,
      DATABASE_URL: url!,
      DATA_KEY: hex(),
      ENDINGS_JOURNAL: folder,
    })
    const log = { warn: () => {} }
    await beginInstallationEpoch(db)
    const before = await readKeyEpoch(db)
    await endAppTokens(config, { log })
    const after = await readKeyEpoch(db)
    expect(after).not.toBe(before)
    const journal = await openJournal(config, { clock: realClock, log })
    onTestFinished(() => journal!.close())
    const startedWithEpochOfBefore = async () => {
      await db.update(installationFacts).set({ value: before }).where(eq(installationFacts.name, 'key_epoch'))
      const { lineage } = (await readTimeline(db))!
      await endLost({ db, clock: realClock }, await journal!.read(lineage))
      return readKeyEpoch(db)
    }
    // As the standby has it that takes over.
    expect(await startedWithEpochOfBefore()).toBe(after)
    // As the backup has it that somebody went back to on purpose.
    await recordRestore(db, realClock())
    expect(await startedWithEpochOfBefore()).toBe(before)
  },
)
