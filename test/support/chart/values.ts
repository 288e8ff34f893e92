/** Values with which the chart is rendered: those for the golden files, and what an older release left. */
import { merge, readChart, type Values } from './render-chart.ts'

const hex = (digit: string): string => digit.repeat(64)

/** What somebody must give. */
export const SMALLEST: Values = {
  global: {
    image: { repository: 'registry.example.com/svc' },
    baseDomain: 'example.com',
    database: { url: 'postgres://svc:secret@db.internal:5432/svc' },
    dataKey: { value: hex('d') },
    platformConnector: { actorAssertionSecret: hex('c') },
    agentRunner: { secret: hex('e') },
  },
  'auth-service': { jwt: { secret: hex('a'), signingKey: hex('b') } },
  'mcp-server': { platform: { jwtSecret: hex('a') } },
}

const scheduling = {
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'svc', effect: 'NoSchedule' }],
  affinity: {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: {
            topologyKey: 'kubernetes.io/hostname',
            labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'api-gateway' } },
          },
        },
      ],
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'api-gateway' } },
    },
  ],
}

/** Everything that can be switched on or said, with every secret by reference. */
export const EVERYTHING: Values = {
  global: {
    image: {
      repository: 'registry.example.com/team/svc',
      tag: '0.1.0-rc.1',
      pullPolicy: 'Always',
      pullSecrets: ['registry'],
    },
    baseDomain: 'svc.example.com',
    trustedProxies: ['10.0.0.0/8', 'fd00::/8'],
    listenAddress: '::',
    caBundle: { existingConfigMap: 'company-ca' },
    database: { existingSecret: 'svc-database' },
    endingsJournal: { existingClaim: 'svc-endings' },
    managedDatabase: { existingSecret: 'svc-managed' },
    dataKey: { existingSecret: 'svc-keys' },
    platformConnector: { existingSecret: 'svc-keys' },
    agentRunner: {
      existingSecret: 'svc-agent-runner',
      models: {
        reviewer: { wire: 'anthropic', url: 'https://models.example.com', max_run_tokens: 1_000_000 },
      },
    },
    operator: { existingSecret: 'svc-operator' },
    mail: { existingSecret: 'svc-mail', from: 'svc <svc@example.com>' },
    workloadIdentity: { audience: 'svc.example.com', namespaces: 'org_0mwh92z3nqvrsrv6mcuxmkrfx=shop' },
    metrics: {
      enabled: true,
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    },
    networkPolicy: {
      ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
    },
    settings: { LOG_LEVEL: 'debug', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.monitoring:4318' },
  },
  migration: {
    resources: { limits: { memory: '256Mi' } },
    podAnnotations: { 'sidecar.istio.io/inject': 'false' },
    podLabels: { team: 'platform' },
    nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '64m', 'example.com/weight': '100' },
    tlsSecret: 'svc-tls',
  },
  'auth-service': {
    jwt: { existingSecret: 'svc-jwt' },
    redirectBaseUrl: 'https://login.example.com',
    allowedRedirectBaseUrls: 'https://one.example.com,https://two.example.com/path',
    google: { clientId: 'google-client', existingSecret: 'svc-google' },
    microsoft: { clientId: 'microsoft-client', tenantId: 'organizations', existingSecret: 'svc-microsoft' },
    oidc: {
      issuer: 'https://id.example.com',
      clientId: 'oidc-client',
      title: 'Example "ID"',
      existingSecret: 'svc-oidc',
    },
    firstOwner: { email: 'ada@example.com', organization: 'Acme', existingSecret: 'svc-first-owner' },
    settings: { PASSWORD_SIGN_IN: 'on' },
  },
  'mcp-server': { platform: { existingSecret: 'svc-jwt' }, autoscaling: { enabled: true } },
  'api-gateway': {
    image: { digest: `sha256:${hex('e')}` },
    autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 12, targetCPUUtilizationPercentage: 60 },
    podDisruptionBudget: { maxUnavailable: 2 },
    podAnnotations: { 'example.com/team': 'platform', 'example.com/reload': 'true' },
    podLabels: { team: 'platform' },
    settings: { QUESTIONS_PER_DAY: '1000000' },
    settingsFrom: { EMBEDDING_MODELS: 'svc-embeddings' },
    serviceAccount: { annotations: { 'example.com/role': 'gateway' } },
    ...scheduling,
  },
  'agent-runner': {
    existingSecret: 'svc-models',
    networkPolicy: { extraEgress: [{ to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [{ port: 8080 }] }] },
  },
  worker: { settings: { LOG_LEVEL: 'warn' } },
  console: { networkPolicy: { extraIngress: [{ from: [{ podSelector: {} }] }] } },
  site: { enabled: true, replicas: 3, podDisruptionBudget: { enabled: false } },
}

/** Users and tokens at a vendor’s; every secret that is left given as a value. */
export const HOSTED: Values = {
  global: {
    image: { repository: 'registry.example.com/svc' },
    baseDomain: 'example.com',
    fixedUser: false,
    auth: {
      mode: 'hosted',
      serviceUrl: 'https://auth.vendor.example',
      loginUrl: 'https://app.vendor.example/auth/sign-in',
      organizations: ['org_0mwh92z3nqvrsrv6mcuxmkrfx'],
    },
    database: { url: 'postgres://svc:secret@db.internal:5432/svc' },
    managedDatabase: { url: 'postgres://admin:secret@vectors.internal:5432/postgres' },
    dataKey: { value: hex('d') },
    platformConnector: { actorAssertionSecret: hex('c') },
    agentRunner: {
      secret: hex('e'),
      models: {
        reviewer: { wire: 'openai-chat', url: 'http://models.internal:8000/v1/a&b' },
        local: { wire: 'openai-chat', url: 'http://localhost:8000' },
      },
    },
    operator: { token: 'operator-token-with-32-characters' },
    mail: { url: 'smtps://user:pa$$@mail.example.com', from: 'svc@example.com' },
    networkPolicy: { enabled: false },
  },
  'auth-service': { enabled: false },
  'agent-runner': { keys: { reviewer: 'sk-<1>&2' } },
  ingress: { enabled: true },
}

/** What `--reuse-values` finds in a release of an older chart: the defaults of today without those that came with 0.5.0. */
export const VALUES_BEFORE_0_5_0: Values = merge(readChart('.').values, {
  global: { workloadIdentity: null, fixedUser: null, caBundle: null, endingsJournal: null },
  'auth-service': { rbac: null },
  ingress: { skillsPathType: null },
  migration: { podAnnotations: null, podLabels: null, nodeSelector: null, tolerations: null, affinity: null },
})
