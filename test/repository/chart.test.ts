/** The chart: what it renders, that the server starts with it, and what it refuses. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHART_SERVICES, settingsInTemplates, valuesSchema } from '../../scripts/generated/chart-schema.ts'
import { readConfig, SETTINGS, type ServiceName } from '../../src/boot/config.ts'
import { dispatcher } from '../../src/boot/listener.ts'
import { readSecrets } from '../../src/boot/secrets.ts'
import { isEmbedded, SERVICES } from '../../src/boot/services.ts'
import { environmentOf, objectsOf, ofKind, podOf, serviceOf } from '../support/chart/objects.ts'
import {
  asText,
  merge,
  readChart,
  RefusedValues,
  renderChart,
  type Values,
} from '../support/chart/render-chart.ts'
import { templateFunctions, TemplateFailure } from '../support/chart/template-functions.ts'
import { EVERYTHING, HOSTED, SMALLEST, VALUES_BEFORE_0_5_0 } from '../support/chart/values.ts'
import { readText, ROOT } from './source-tree.ts'

const GOLDEN = { smallest: SMALLEST, everything: EVERYTHING, hosted: HOSTED }
const CASES = Object.entries(GOLDEN).map(([name, values]) => ({ name, values }))

test.each(CASES)('rendered with values "$name" it is the golden file', async ({ name, values }) => {
  const rendered = renderChart(values)
  const text = `${asText(rendered)}---\n# NOTES\n${rendered.notes.replaceAll(/^/gm, '# ')}\n`
  await expect(text).toMatchFileSnapshot(`../snapshots/chart/${name}.yaml`)
})

describe.each(CASES)('with values "$name"', ({ values }) => {
  const objects = objectsOf(renderChart(values))
  const deployments = ofKind(objects, 'Deployment')

  test('no two objects have the same kind and name', () => {
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
  })

  test('pods run as nobody special, on a read-only root, with probes, and have time to stop', () => {
    const pods = objects.flatMap((object) => podOf(object) ?? [])
    expect(pods.length).toBeGreaterThan(7)
    for (const pod of pods) {
      expect(pod['securityContext']).toMatchObject({ runAsNonRoot: true })
      expect(pod.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
    for (const { containers, terminationGracePeriodSeconds } of deployments.map(podOf)) {
      expect(containers[0]).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port: 'http' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
        lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
      })
      expect(terminationGracePeriodSeconds).toBeGreaterThan(5 + readConfig({}).STOP_SECONDS)
    }
  })

  test('only the auth-service gets a token of the cluster', () => {
    const holders = deployments.filter((one) => podOf(one).automountServiceAccountToken).map(serviceOf)
    expect(holders).toEqual(deployments.map(serviceOf).filter((name) => name === 'auth-service'))
  })

  test('selectors find the pods of their own service', () => {
    const labels = new Map(
      deployments.map((one) => [
        serviceOf(one),
        (one.spec['template'] as { metadata: { labels: object } }).metadata.labels,
      ]),
    )
    const selecting = objects.flatMap((object) => {
      const selector = (object.spec['selector'] ?? object.spec['podSelector']) as
        | { matchLabels?: object }
        | undefined
      return selector ? [{ service: serviceOf(object), wanted: selector.matchLabels ?? selector }] : []
    })
    expect(selecting.length).toBeGreaterThan(deployments.length)
    for (const { service, wanted } of selecting) expect(labels.get(service)).toMatchObject(wanted)
  })

  test('every Secret that is made is used, with exactly its keys', () => {
    const used = objects
      .flatMap((object) => podOf(object)?.containers[0].env ?? [])
      .flatMap(({ valueFrom }) =>
        valueFrom ? [`${valueFrom.secretKeyRef.name} ${valueFrom.secretKeyRef.key}`] : [],
      )
    const made = ofKind(objects, 'Secret').flatMap(({ metadata, stringData = {} }) =>
      Object.keys(stringData).map((key) => `${metadata.name} ${key}`),
    )
    expect(made.filter((key) => !used.includes(key))).toEqual([])
    const ours = used.filter((key) => made.some((one) => one.split(' ')[0] === key.split(' ')[0]))
    expect(ours.filter((key) => !made.includes(key))).toEqual([])
  })

  test('settings are set once, and no pod is told a secret as plain text', () => {
    for (const deployment of deployments) {
      const { env } = podOf(deployment).containers[0]
      expect(new Set(env.map(({ name }) => name)).size, serviceOf(deployment)).toBe(env.length)
      const plain = env.filter(({ value }) => value !== undefined).map(({ name }) => name)
      expect(plain.filter((name) => /SECRET|KEY|PASSWORD$|SMTP_URL|DATABASE_URL|TOKEN/.test(name))).toEqual(
        [],
      )
      expect(JSON.stringify(env)).not.toContain('sk-')
    }
  })
})

/** Models with their keys are in one Secret, and without them in the environment of others. */
test('keys of models reach the agent-runner alone', () => {
  const objects = objectsOf(renderChart(HOSTED))
  const holders = objects.filter((object) => JSON.stringify(object).includes('sk-'))
  expect(holders.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(['Secret svc-agent-runner'])
  const models = (service: string) =>
    JSON.parse(
      environmentOf(
        ofKind(objects, 'Deployment').find((one) => serviceOf(one) === service)!,
        objects,
      )['MAINTENANCE_MODELS']!,
    ) as object
  const reviewer = { wire: 'openai-chat', url: 'http://models.internal:8000/v1/a&b' }
  const local = { wire: 'openai-chat', url: 'http://localhost:8000' }
  expect(models('agent-runner')).toEqual({ reviewer: { ...reviewer, key: 'sk-<1>&2' }, local })
  expect(models('deploy-api')).toEqual({ reviewer, local })
  expect(models('worker')).toEqual({ reviewer, local })
})

describe('the server', () => {
  test('has a subchart for every service', () => {
    const folders = globSync('chart/charts/*', { cwd: ROOT }).map((path) => path.replace(/^.*\//, ''))
    expect(folders.toSorted()).toEqual(CHART_SERVICES.toSorted())
    expect(
      readChart('.')
        .about.dependencies?.map(({ name }) => name)
        .toSorted(),
    ).toEqual(folders.toSorted())
  })

  test.each(CASES)('takes the settings of "$name", and has every secret it needs', async ({ values }) => {
    const objects = objectsOf(renderChart(values))
    for (const deployment of ofKind(objects, 'Deployment')) {
      const service = serviceOf(deployment) as ServiceName
      const env = environmentOf(deployment, objects)
      const config = readConfig(env)
      expect(config.SVC_SERVICES).toEqual([service])
      expect(isEmbedded(config), service).toBe(false)
      const secrets = await readSecrets(config)
      expect(config.DATABASE_URL !== undefined, `${service} and the database`).toBe(
        SERVICES[service].usesDatabase,
      )
      // It gets no secret that it does not need.
      for (const key of Object.keys(secrets)) {
        await expect(readSecrets({ ...config, [key]: undefined }), `${service} and ${key}`).rejects.toThrow(
          key,
        )
      }
    }
  })

  test('knows every setting that the chart sets', () => {
    const unknown = [...settingsInTemplates()].filter((name) => !(name in SETTINGS))
    // Node's own.
    expect(unknown).toEqual(['NODE_EXTRA_CA_CERTS'])
  })

  test.each<[setting: string, service: ServiceName]>([
    ['AUTH_SERVICE_URL', 'auth-service'],
    ['GATEWAY_URL', 'api-gateway'],
    ['DEPLOY_URL', 'deploy-api'],
    ['AGENT_RUNNER_URL', 'agent-runner'],
  ])('accepts the address at which others reach it: %s', async (setting, service) => {
    const objects = objectsOf(renderChart(SMALLEST))
    const deployments = ofKind(objects, 'Deployment')
    const called = deployments.find((one) => serviceOf(one) === service)!
    const ask = dispatcher({
      config: readConfig(environmentOf(called, objects)),
      services: new Map([[service, async () => new Response('')]]),
      readiness: async () => ({ ready: true }),
    })
    const services = ofKind(objects, 'Service').map(({ metadata }) => `${metadata.name}:4000`)
    for (const deployment of deployments) {
      const url = new URL(environmentOf(deployment, objects)[setting]!)
      expect(services).toContain(url.host)
      // Not 421: the path is nobody's, the host is ours.
      expect((await ask(new Request(new URL('/nowhere', url)))).status).toBe(404)
    }
    expect((await ask(new Request('http://elsewhere:4000/nowhere'))).status).toBe(421)
  })
})

test('the agent-runner has the model keys and nothing of the database; console and site have no secret', () => {
  const objects = objectsOf(renderChart(EVERYTHING))
  const secretsOf = (service: string) =>
    ofKind(objects, 'Deployment')
      .filter((one) => serviceOf(one) === service)
      .flatMap((one) =>
        podOf(one)
          .containers[0].env.filter(({ valueFrom }) => valueFrom)
          .map(({ name }) => name),
      )
  expect(secretsOf('agent-runner')).toEqual(['AGENT_RUNNER_SECRET', 'MAINTENANCE_MODELS'])
  expect(secretsOf('console')).toEqual([])
  expect(secretsOf('site')).toEqual([])
  expect(secretsOf('mcp-server')).toEqual(['JWT_SECRET', 'ACTOR_ASSERTION_SECRET'])
})

test('network policies let a service be called by those that call it', () => {
  const policies = ofKind(objectsOf(renderChart(SMALLEST)), 'NetworkPolicy')
  type Rule = { from?: { podSelector: { matchLabels: Record<string, string> } }[] }
  const allowed = Object.fromEntries(
    policies.map((policy) => [
      serviceOf(policy),
      ((policy.spec['ingress'] ?? []) as Rule[]).map(
        ({ from }) => from?.[0]?.podSelector.matchLabels['app.kubernetes.io/name'] ?? 'everybody',
      ),
    ]),
  )
  expect(allowed).toEqual({
    'agent-runner': ['deploy-api', 'worker'],
    'api-gateway': ['everybody', 'console', 'mcp-server', 'site'],
    'auth-service': ['everybody', 'api-gateway', 'deploy-api', 'mcp-server'],
    console: ['everybody'],
    'deploy-api': ['agent-runner', 'api-gateway'],
    'mcp-server': ['everybody'],
    site: ['everybody'],
    worker: [],
  })
  const restricted = policies.filter(({ spec }) => (spec['policyTypes'] as string[]).includes('Egress'))
  expect(restricted.map(serviceOf).toSorted()).toEqual(['agent-runner', 'console', 'mcp-server', 'site'])
})

test('settings of a service go before those of all', () => {
  const objects = objectsOf(renderChart(EVERYTHING))
  const levels = ofKind(objects, 'Deployment').map((one) => [
    serviceOf(one),
    podOf(one).containers[0].env.find(({ name }) => name === 'LOG_LEVEL')?.value,
  ])
  expect(Object.fromEntries(levels)).toMatchObject({ worker: 'warn', console: 'debug' })
})

test('where the cluster chooses the user, pods name none', () => {
  const objects = objectsOf(renderChart(merge(SMALLEST, { global: { fixedUser: false } })))
  for (const pod of objects.flatMap((object) => podOf(object) ?? [])) {
    expect(pod['securityContext']).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    })
  }
})

test('names are resolved at both ports that pods of clusters use for it', () => {
  const policies = ofKind(objectsOf(renderChart(SMALLEST)), 'NetworkPolicy')
  const [first] = policies.find((one) => serviceOf(one) === 'console')!.spec['egress'] as {
    ports: { port: number }[]
  }[]
  expect(first?.ports.map(({ port }) => port)).toEqual([53, 53, 5353, 5353])
})

test('every pod, the migration too, trusts the certificates of a ConfigMap', () => {
  const values = merge(SMALLEST, { global: { caBundle: { existingConfigMap: 'company-ca' } } })
  const pods = objectsOf(renderChart(values)).flatMap((object) => podOf(object) ?? [])
  expect(pods).toHaveLength(CHART_SERVICES.length + 1)
  for (const pod of pods) {
    const [{ env, volumeMounts }] = pod.containers
    const path = env.find(({ name }) => name === 'NODE_EXTRA_CA_CERTS')?.value
    const mount = (volumeMounts as { name: string; mountPath: string }[]).find(
      ({ mountPath }) => path === `${mountPath}/ca.crt`,
    )
    expect(pod['volumes']).toContainEqual({ name: mount?.name, configMap: { name: 'company-ca' } })
  }
})

test('the services with a database share the claim for what was ended, and can seal it', () => {
  const values = merge(SMALLEST, { global: { endingsJournal: { existingClaim: 'svc-endings' } } })
  const pods = ofKind(objectsOf(renderChart(values)), 'Deployment').map((one) => ({
    service: serviceOf(one) as ServiceName,
    pod: podOf(one),
  }))
  const claim = { name: 'endings', persistentVolumeClaim: { claimName: 'svc-endings' } }
  for (const { service, pod } of pods) {
    const [{ env, volumeMounts }] = pod.containers
    const path = env.find(({ name }) => name === 'ENDINGS_JOURNAL')?.value
    const mount = (volumeMounts as { name: string; mountPath: string }[]).find(
      ({ name }) => name === 'endings',
    )
    expect([
      service,
      mount?.mountPath,
      (pod['volumes'] as object[]).some((one) => isDeepStrictEqual(one, claim)),
    ]).toEqual([service, path, SERVICES[service].usesDatabase])
    expect(path !== undefined).toBe(SERVICES[service].usesDatabase)
    if (path !== undefined) expect(env.map(({ name }) => name)).toContain('DATA_KEY')
  }
  expect(JSON.stringify(objectsOf(renderChart(SMALLEST)))).not.toContain('ENDINGS_JOURNAL')
})

test('the migration runs where and as it is told, with the newest image', () => {
  const scheduling = {
    nodeSelector: { 'kubernetes.io/arch': 'arm64' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
  }
  const values = merge(SMALLEST, {
    migration: {
      ...scheduling,
      podAnnotations: { 'sidecar.istio.io/inject': 'false' },
      podLabels: { team: 'platform' },
    },
    'auth-service': { image: { tag: '0.2.0' } },
  })
  const [job] = ofKind(objectsOf(renderChart(values)), 'Job')
  expect(podOf(job!)).toMatchObject(scheduling)
  expect(podOf(job!).containers[0].image).toMatch(/:0\.2\.0$/)
  expect((job!.spec['template'] as { metadata: object }).metadata).toMatchObject({
    annotations: { 'sidecar.istio.io/inject': 'false' },
    labels: { team: 'platform' },
  })
})

test('a pod is given the time that its service takes to stop', () => {
  const graceOf = (values: Values) =>
    Object.fromEntries(
      ofKind(objectsOf(renderChart(merge(SMALLEST, values))), 'Deployment').map((one) => [
        serviceOf(one),
        podOf(one)['terminationGracePeriodSeconds'],
      ]),
    )
  const values = {
    global: { settings: { STOP_SECONDS: '120' } },
    worker: { settings: { STOP_SECONDS: '5' } },
    'api-gateway': { settings: { STOP_DELAY_SECONDS: '10' } },
  }
  expect(graceOf(values)).toMatchObject({ console: 140, worker: 25, 'api-gateway': 150 })
  expect(graceOf({})).toMatchObject({ console: 45 })
})

test('plain settings arrive as they were given: dollar signs, and an empty one that takes the shared one away', () => {
  const values = merge(SMALLEST, {
    global: { settings: { NO_PROXY: '$(HOST),$x' } },
    worker: { settings: { NO_PROXY: '' } },
  })
  const objects = objectsOf(renderChart(values))
  const envOf = (service: string) =>
    podOf(ofKind(objects, 'Deployment').find((one) => serviceOf(one) === service)!).containers[0].env
  expect(envOf('console')).toContainEqual({ name: 'NO_PROXY', value: '$$(HOST),$$x' })
  expect(envOf('worker')).toContainEqual({ name: 'NO_PROXY', value: '' })
})

test('no path of the Ingress has characters that ingress-nginx refuses for its type', () => {
  type Rule = { http: { paths: { path: string; pathType: string }[] } }
  const pathsOf = (values: Values) =>
    ofKind(objectsOf(renderChart(values)), 'Ingress').flatMap(({ spec }) =>
      (spec['rules'] as Rule[]).flatMap(({ http }) => http.paths),
    )
  for (const values of [EVERYTHING, HOSTED]) {
    const paths = pathsOf(values)
    expect(paths.map(({ path }) => path)).toContain('/.well-known/agent-skills')
    // strict-validate-path-type, the default since 1.12.
    const strict = paths.filter(({ pathType }) => pathType !== 'ImplementationSpecific')
    expect(strict.filter(({ path }) => !/^\/[A-Za-z0-9/_-]*$/.test(path))).toEqual([])
  }
  const prefix = merge(EVERYTHING, { ingress: { skillsPathType: 'Prefix' } })
  expect(new Set(pathsOf(prefix).map(({ pathType }) => pathType))).toEqual(new Set(['Prefix']))
})

describe('the notes about the first owner', () => {
  const google = { google: { clientId: 'x', clientSecret: 'y' } }
  const owner = { firstOwner: { email: 'ada@example.com', password: 'x'.repeat(15) } }
  const notesOf = (auth: Values) => renderChart(merge(SMALLEST, { 'auth-service': auth })).notes

  test('name a password only where it works', () => {
    expect(notesOf(owner)).toContain('with the password that you gave')
    expect(notesOf({})).toContain('reset-password owner@svc.localhost')
    const on = { settings: { PASSWORD_SIGN_IN: 'on' } }
    expect(notesOf({ ...google, ...owner, ...on })).toContain('with the password that you gave')
  })

  test.each<[name: string, auth: Values]>([
    ['a provider', { ...google, ...owner }],
    ['a provider and no first owner', google],
    ['passwords turned off', { ...owner, settings: { PASSWORD_SIGN_IN: 'off' } }],
  ])('say what to do with %s', (_, auth) => {
    const notes = notesOf(auth)
    expect(notes).toContain('auth-service.settings.PASSWORD_SIGN_IN="on"')
    expect(notes).not.toContain('reset-password')
    expect(notes).not.toContain('that you gave')
  })
})

test('long names of releases give names that Kubernetes takes', () => {
  const release = `a-${'long-'.repeat(10)}b`
  expect(release).toHaveLength(53)
  for (const { metadata } of objectsOf(renderChart(SMALLEST, { release }))) {
    // Cluster roles may be longer.
    const name = metadata.name.replace(/^platform:/, '')
    expect(name.length).toBeLessThanOrEqual(63)
    expect(name).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/)
  }
  expect(() => renderChart(SMALLEST, { release: '1st' })).toThrow(TemplateFailure)
})

test('changed secrets mean new pods, changed replicas do not', () => {
  const checksum = (values: Values) =>
    ofKind(objectsOf(renderChart(values)), 'Deployment').map((one) => JSON.stringify(one.spec['template']))
  const rotated = merge(SMALLEST, { global: { dataKey: { value: 'f'.repeat(64) } } })
  const scaled = merge(SMALLEST, { console: { replicas: 5 } })
  expect(checksum(SMALLEST)).toEqual(checksum(scaled))
  expect(checksum(SMALLEST)).not.toEqual(checksum(rotated))
})

describe('workload identity', () => {
  const settingsOf = (values: Values, options = {}) => {
    const objects = objectsOf(renderChart(values, options))
    const of = (service: string) =>
      environmentOf(
        ofKind(objects, 'Deployment').find((one) => serviceOf(one) === service)!,
        objects,
      )
    return { auth: of('auth-service'), deploy: of('deploy-api'), kinds: objects.map(({ kind }) => kind) }
  }

  test('is on: permissions, and the same audience on both sides', () => {
    const { auth, deploy, kinds } = settingsOf(SMALLEST)
    expect(kinds).toEqual(expect.arrayContaining(['ClusterRole', 'ClusterRoleBinding']))
    expect(auth).toMatchObject({ WORKLOAD_AUDIENCE: 'svc-control-plane' })
    expect(deploy).toMatchObject({ SVC_WORKLOAD_AUDIENCE: 'svc-control-plane' })
  })

  test('one value turns it off on both sides', () => {
    const off = merge(SMALLEST, { global: { workloadIdentity: { enabled: false } } })
    const { auth, deploy, kinds } = settingsOf(off)
    // Nor are there permissions that nobody uses.
    expect(kinds).not.toContain('ClusterRole')
    expect(kinds).not.toContain('ClusterRoleBinding')
    expect(auth).toMatchObject({ WORKLOAD_IDENTITY_ENABLED: 'false' })
    expect(deploy).toMatchObject({ SVC_WORKLOAD_AUDIENCE: '' })
  })

  test('an upgrade that reuses values of a chart before 0.5.0 has no permissions, and says how to get them', () => {
    const reused = { chartValues: VALUES_BEFORE_0_5_0 }
    expect(settingsOf(SMALLEST, reused).kinds).not.toContain('ClusterRole')
    const { notes } = renderChart(SMALLEST, reused)
    expect(notes).toContain('Invalid or expired API token')
    expect(notes).toContain('--reuse-values --set auth-service.rbac.create=true')
    expect(renderChart(SMALLEST).notes).not.toContain('Invalid or expired API token')

    // Whatever else is new is as if it was given its default.
    const withIngress = merge(SMALLEST, {
      ingress: { enabled: true },
      'auth-service': { rbac: { create: true } },
    })
    expect(asText(renderChart(withIngress, reused))).toBe(asText(renderChart(withIngress)))

    const cured = merge(SMALLEST, { 'auth-service': { rbac: { create: true } } })
    expect(settingsOf(cured, reused).kinds).toContain('ClusterRole')
    expect(renderChart(cured, reused).notes).not.toContain('Invalid or expired API token')
  })

  test.each<[part: Values]>([
    [{ namespaces: 'org_0mwh92z3nqvrsrv6mcuxmkrfx=shop' }],
    [{ audience: 'svc-control-plane' }],
  ])('reused values with a part of the group, %j, leave it on', (part) => {
    const reused = { chartValues: VALUES_BEFORE_0_5_0 }
    const values = merge(SMALLEST, { global: { workloadIdentity: part } })
    const { auth, deploy } = settingsOf(values, reused)
    expect(auth).toMatchObject({ WORKLOAD_AUDIENCE: 'svc-control-plane' })
    expect(auth).not.toHaveProperty('WORKLOAD_IDENTITY_ENABLED')
    expect(deploy).toMatchObject({ SVC_WORKLOAD_AUDIENCE: 'svc-control-plane' })
    expect(renderChart(values, reused).notes).toContain('Invalid or expired API token')
    const holders = ofKind(objectsOf(renderChart(values, reused)), 'Deployment').filter(
      (one) => podOf(one).automountServiceAccountToken,
    )
    expect(holders.map(serviceOf)).toEqual(['auth-service'])
  })
})

describe('values that cannot work are refused by name', () => {
  const nested = (path: string, value: unknown): Values =>
    path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Values

  test.each([
    ['auth-service.jwt.secret', 'short'],
    ['auth-service.jwt.signingKey', 'z'.repeat(64)],
    ['auth-service.jwt.signingKye', 'b'.repeat(64)],
    ['auth-service.redirectBaseUrl', 'http://app.example.com'],
    ['auth-service.redirectBaseUrl', 'https://app.example.com/path'],
    ['auth-service.allowedRedirectBaseUrls', ['https://app.example.com']],
    ['auth-service.allowedRedirectBaseUrls', 'https://a.example.com;https://b.example.com'],
    ['auth-service.microsoft.tenantId', 'everybody'],
    ['auth-service.rbac.create', 'yes'],
    ['auth-service.firstOwner.password', 'too short'],
    ['mcp-server.platform.jwtSecret', 1234],
    ['global.platformConnector.actorAssertionSecret', 'c'.repeat(63)],
    ['global.baseDomain', 'https://example.com'],
    ['global.database.url', 'mysql://db.internal/svc'],
    ['global.database.existingSecret', 'Not A Name'],
    ['auth-service.firstOwner.email', 'a@b'],
    ['global.baseDomain', '10.0.0.1'],
    ['global.trustedProxies.0', ['everybody']],
    ['global.trustedProxies.0', ['dead']],
    ['global.trustedProxies.0', ['10.0.0.0/99']],
    ['global.auth.organizations.0', ['org_x']],
    ['global.workloadIdentity.namespaces', 'shop'],
    ['global.workloadIdentity.namespaces', 'org_0mwh92z3nqvrsrv6mcuxmkrfx=Shop'],
    ['global.fixedUser', 10_001],
    ['global.settings.QUESTIONS_PER_DAY', 'many'],
    ['global.settings.QUESTIONS_PER_DAY', '0'],
    ['global.settings.STOP_SECONDS', '601'],
    ['global.settings.LOG_LEVEL', 'loud'],
    ['global.settings.DATABASE_PREPARE', 'maybe'],
    ['global.settings.HTTPS_PROXY', 'http://user:password@proxy.example.com:3128'],
    ['global.settings.KUBERNETES_SERVICE_HOST', '10.0.0.1'],
    ['ingress.skillsPathType', 'Exact'],
    ['ingress.annotations.weight', 100],
    ['console.podAnnotations.reload', true],
    ['global.auth.mode', 'none'],
    ['global.auth.organizations.0', ['acme']],
    ['global.image.digest', 'latest'],
    ['global.image.pullPolicy', 'Sometimes'],
    ['global.workloadIdentity.audience', ''],
    ['global.settings.QUESTIONS_PER_DAY', 1_000_000],
    ['global.settings.LOG_LEVLE', 'debug'],
    ['global.settings.DATABASE_URL', 'postgres://db.internal/svc'],
    ['global.settings.EMBEDDING_MODELS', '{}'],
    ['worker.settingsFrom.SMTP_URL', 'mail'],
    ['worker.replicas', -1],
    ['worker.replicas', 1.5],
    ['worker.replicas', '2'],
    ['worker.autoscaling.targetCPUUtilizationPercentage', 0],
    ['console.podDisruptionBudget.maxUnavailable', 0],
    ['console.resources.request', {}],
    ['migration.deadlineSeconds', 1],
    ['ingress.tlsSecret', 'a/b'],
    ['gateway', {}],
    ['global.agentRunner.models.reviewer.wire', 'smoke'],
    ['global.agentRunner.models.reviewer.key', 'sk-1'],
    ['agent-runner.keys.reviewer', 'two words'],
  ])('%s: %j', (path, value) => {
    const at = Array.isArray(value) && /\.\d+$/.test(path) ? path.replace(/\.\d+$/, '') : path
    const refusal = refusalOf(merge(SMALLEST, nested(at, value)))
    expect(refusal).toBeInstanceOf(RefusedValues)
    expect(refusal?.message).toContain(`${path}: `)
  })

  test.each<[path: string, value: unknown, more?: Values]>([
    ['global.image.repository', ''],
    ['global.baseDomain', ''],
    ['global.database.url', ''],
    ['global.dataKey.value', ''],
    ['global.dataKey.value', 'a'.repeat(64)],
    ['global.dataKey.value', 'c'.repeat(64)],
    ['global.platformConnector.actorAssertionSecret', ''],
    ['global.platformConnector.actorAssertionSecret', 'b'.repeat(64)],
    ['global.agentRunner.secret', ''],
    ['global.agentRunner.secret', 'a'.repeat(64)],
    ['global.agentRunner.secret', 'd'.repeat(64)],
    ['global.agentRunner.secret', 'D'.repeat(64)],
    ['global.agentRunner.secret', 'e'.repeat(64), { 'agent-runner': { enabled: false } }],
    ['worker.networkPolicy.extraEgress', [{}]],
    ['site.enabled', false, { ingress: { enabled: true } }],
    ['console.podLabels', { 'app.kubernetes.io/name': 'mine' }],
    ['worker.settingsFrom.NO_PROXY', 'proxy', { worker: { settings: { NO_PROXY: '' } } }],
    ['agent-runner.keys.reviewer', 'sk-1'],
    ['worker.settingsFrom.NO_PROXY', 'proxy', { global: { settings: { NO_PROXY: 'models.internal' } } }],
    ['auth-service.jwt.secret', ''],
    ['auth-service.jwt.signingKey', ''],
    ['auth-service.jwt.signingKey', 'a'.repeat(64)],
    ['auth-service.enabled', false],
    ['auth-service.google.clientSecret', '', { 'auth-service': { google: { clientId: 'x' } } }],
    ['auth-service.google.clientId', '', { 'auth-service': { google: { existingSecret: 'x' } } }],
    ['auth-service.microsoft.clientId', '', { 'auth-service': { microsoft: { tenantId: 'common' } } }],
    ['auth-service.oidc.issuer', '', { 'auth-service': { oidc: { clientId: 'x', clientSecret: 'y' } } }],
    ['auth-service.oidc.clientId', '', { 'auth-service': { oidc: { issuer: 'https://id.example.com' } } }],
    ['auth-service.firstOwner.email', '', { 'auth-service': { firstOwner: { password: 'x'.repeat(15) } } }],
    ['mcp-server.platform.jwtSecret', ''],
    ['mcp-server.platform.jwtSecret', 'e'.repeat(64)],
    ['global.mail.from', '', { global: { mail: { url: 'smtp://mail.example.com' } } }],
    ['global.auth.loginUrl', 'https://vendor.example'],
    ['auth-service.enabled', true, { global: { auth: { mode: 'hosted' } } }],
    [
      'global.auth.serviceUrl',
      '',
      { global: { auth: { mode: 'hosted' } }, 'auth-service': { enabled: false } },
    ],
    ['console.autoscaling.maxReplicas', 1, { console: { autoscaling: { enabled: true } } }],
  ])('together with the others, %s: %j', (path, value, more = {}) => {
    const values = merge(merge(SMALLEST, more), nested(path, value))
    const refusal = refusalOf(values)
    expect(refusal).toBeInstanceOf(TemplateFailure)
    expect(refusal?.message.startsWith(`${path}: `), refusal?.message).toBe(true)
  })

  test('the same secret in other letters is the same', () => {
    const values = merge(SMALLEST, { 'mcp-server': { platform: { jwtSecret: 'A'.repeat(64) } } })
    expect(refusalOf(values)).toBeUndefined()
  })

  test('without the MCP server its secret is not asked for', () => {
    const values = merge(SMALLEST, { 'mcp-server': { enabled: false, platform: null } })
    expect([...renderChart(values).files.keys()].filter((path) => path.includes('mcp-server'))).toEqual([])
  })
})

describe('values and versions', () => {
  test('schema and defaults name the same values', () => {
    const { properties = {} } = valuesSchema()
    const own = readChart('.').values
    for (const [name, schema] of Object.entries(properties)) {
      const isService = CHART_SERVICES.includes(name)
      const defaults = isService
        ? merge(readChart(`charts/${name}`).values, (own[name] ?? {}) as Values)
        : own[name]
      const known = { ...schema.properties }
      if (isService) delete known['global']
      expect(namesIn(defaults), name).toEqual(namesOfSchema({ properties: known }))
    }
  })

  test('of chart, subcharts and program', () => {
    const { version } = JSON.parse(readText('package.json')) as { version: string }
    for (const folder of ['.', ...CHART_SERVICES.map((name) => `charts/${name}`)]) {
      expect(readChart(folder).about, folder).toMatchObject({ version: '0.5.0', appVersion: version })
    }
    const { dependencies } = parse(readText('chart/Chart.yaml')) as { dependencies: { version: string }[] }
    expect(new Set(dependencies.map((one) => one.version))).toEqual(new Set(['0.5.0']))
  })

  test('templates use every function that the renderer knows: the set stays small', () => {
    const templates = globSync('chart/**/templates/*', { cwd: ROOT }).map((path) => readText(join(path)))
    const used = new Set(
      [...templates.join('\n').matchAll(/\{\{[^]*?\}\}/g)].flatMap(([action]) =>
        [...action.replaceAll(/"[^"]*"/g, '""').matchAll(/(?<![.$\w])[a-z]\w*/gi)].map(([word]) => word),
      ),
    )
    const known = Object.keys(templateFunctions(() => ''))
    expect(known.filter((name) => !used.has(name))).toEqual([])
  })
})

function refusalOf(values: Values): Error | undefined {
  try {
    renderChart(values)
    return undefined
  } catch (error) {
    return error as Error
  }
}

type Schema = ReturnType<typeof valuesSchema>

/** Paths of values, as far down as the schema says what is there. */
function namesOfSchema({ $ref, properties }: Schema): unknown {
  if ($ref !== undefined || properties === undefined) return 'value'
  return Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, namesOfSchema(below)]))
}

function namesIn(value: unknown, path = ''): unknown {
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isGroup || Object.keys(value).length === 0 || path.endsWith('resources')) return 'value'
  return Object.fromEntries(
    Object.entries(value).map(([name, below]) => [name, namesIn(below, `${path}.${name}`)]),
  )
}
