import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { kindRules, kindsFor } from '../activities/kubernetes/cache/cached-kinds.ts'
import { readConfig, readConversionConfig } from '../api/config.ts'
import { kubernetesVersions } from '../deploy/local/server-versions.ts'
import { serveAnnotation } from '../workers/conversion/custom-resources.ts'
import {
  binding,
  budget,
  chartFolder,
  type Deployment,
  deployment,
  fullValues,
  helm,
  isHook,
  ofShape,
  podEnvironment,
  releaseNamespace,
  renderChart,
  role,
  rolesOf,
  service,
  smallestValues,
} from './chart.ts'

const crdFolder = fileURLToPath(new URL('../deploy/crds', import.meta.url))
const admission = 'admissionregistration.k8s.io/v1'
const accounts = ['joiner', 'joiner-azure', 'joiner-planner', 'joiner-conversion']
const cases = [
  { name: 'the smallest values', values: smallestValues, azureAccount: 'joiner-azure' },
  { name: 'every value set', values: fullValues, azureAccount: 'scaler' },
] as const

test('the oldest Kubernetes that the chart allows is the oldest that the local cluster can run', async () => {
  const { kubeVersion } = parse(await readFile(join(chartFolder, 'Chart.yaml'), 'utf8'))
  expect(kubeVersion).toBe(`>=${kubernetesVersions.oldest.replace(/\d+$/, '0')}-0`)
})

describe.each(cases)('the chart with $name', ({ values, azureAccount }) => {
  let manifests: Awaited<ReturnType<typeof renderChart>>
  let deployments: readonly Deployment[]

  beforeAll(async () => {
    manifests = (await renderChart(values)).filter((each) => !isHook(each))
    deployments = ofShape(manifests, ['Deployment'], deployment)
  })

  test('helm lint finds nothing to warn of', async () => {
    const { code, stdout } = await helm(['lint', chartFolder, '--strict'], values)
    expect(stdout).toContain('0 chart(s) failed')
    expect(code).toBe(0)
  })

  test('everything is in the release namespace, of the cluster, or what Joiner needs in kube-system', () => {
    const places = manifests
      .filter(({ apiVersion }) => apiVersion !== admission)
      .map(({ kind, metadata }) => `${metadata.namespace ?? 'cluster'} ${kind}`)
    const elsewhere = places.filter((place) => !place.startsWith(`${releaseNamespace} `))
    expect([...new Set(elsewhere)].toSorted()).toEqual([
      'cluster ClusterRole',
      'cluster ClusterRoleBinding',
      ...(values === fullValues ? [] : ['cluster FlowSchema', 'cluster PriorityLevelConfiguration']),
      'kube-system Role',
      'kube-system RoleBinding',
    ])
  })

  test('warnings never refuse, and one value switches them off; what limits Joiner itself always refuses', () => {
    const policies = manifests.filter(({ apiVersion }) => apiVersion === admission)
    const warnings = ['joiner-aksnodeclasses', 'joiner-nodepools', 'joiner-other-providers', 'joiner-unread']
    const limits = ['joiner-bootstrap-tokens', 'joiner-conversion', 'joiner-own-objects']
    const ofNodes = 'joiner-node-identity'
    expect(new Set(policies.map(({ metadata }) => metadata.name))).toEqual(
      new Set(values === fullValues ? limits : [...limits, ...warnings, ofNodes]),
    )
    for (const { kind, metadata, spec } of policies) {
      const isLimit = limits.includes(metadata.name)
      expect(spec).toMatchObject(
        kind === 'ValidatingAdmissionPolicy'
          ? { failurePolicy: isLimit ? 'Fail' : 'Ignore' }
          : { validationActions: isLimit || metadata.name === ofNodes ? ['Deny'] : ['Warn', 'Audit'] },
      )
    }
  })

  test('FIPS is warned of where no shared gallery has its images', async () => {
    const own = values as { readonly azure: object }
    for (const enabled of [false, true]) {
      const sharedGallery = { enabled, subscriptionId: 'aks', tokenServerUrl: 'http://tokens.example' }
      const rendered = await renderChart({ ...own, azure: { ...own.azure, sharedGallery }, admissionWarnings: true })
      const policy = rendered.find(({ metadata }) => metadata.name === 'joiner-aksnodeclasses')
      expect(JSON.stringify(policy).includes('fipsMode')).toBe(!enabled)
    }
  })

  test('no rule has a wildcard', () => {
    const rules = ofShape(manifests, ['Role', 'ClusterRole'], role).flatMap((each) => each.rules)
    expect(rules.length).toBeGreaterThan(0)
    for (const { apiGroups, resources, verbs } of rules)
      expect([...apiGroups, ...resources, ...verbs].filter((each) => each.includes('*'))).toEqual([])
  })

  test('each Deployment may watch what its roles watch', () => {
    const granted = ofShape(manifests, ['ClusterRole'], role)
    const watchable = (name: string) =>
      (granted.find(({ metadata }) => metadata.name === `joiner-${name}`)?.rules ?? [])
        .filter(({ verbs }) => verbs.includes('list') && verbs.includes('watch'))
        .flatMap(({ resources }) => resources)
    for (const name of ['core', 'bridge', 'azure', 'planner'] as const) {
      const kinds = kindsFor({ roles: [name], defaultSpread: values === fullValues })
      expect(watchable(name)).toEqual(expect.arrayContaining(kinds.map((kind) => kindRules[kind].resource)))
    }
  })

  test('no right leads to more rights, and each Role goes to the account whose Deployment has the role', () => {
    const roles = ofShape(manifests, ['Role', 'ClusterRole'], role)
    const rules = roles.flatMap((each) => each.rules)
    expect(rules.flatMap(({ verbs }) => verbs).filter((verb) => /^(escalate|bind|impersonate)$/.test(verb))).toEqual([])
    expect(rules.flatMap(({ apiGroups }) => apiGroups)).not.toContain('rbac.authorization.k8s.io')
    const names = new Set(roles.map(({ metadata }) => metadata.name))
    const bindings = ofShape(manifests, ['RoleBinding', 'ClusterRoleBinding'], binding)
    const ours = bindings.filter(({ roleRef }) => names.has(roleRef.name))
    const bound = ours.map(({ kind, roleRef, subjects }) => [kind, roleRef.name, subjects])
    const accountOf = (name: string) => [{ kind: 'ServiceAccount', name, namespace: releaseNamespace }]
    const expected = deployments.flatMap((each) =>
      rolesOf(each).flatMap((name) => {
        const account = accountOf(each.spec.template.spec.serviceAccountName)
        return [
          ['ClusterRoleBinding', `joiner-${name}`, account],
          ['RoleBinding', `joiner-${name}`, account],
          ...(name === 'azure' ? [['RoleBinding', 'joiner-azure-kube-system', account]] : []),
        ]
      }),
    )
    expect(new Set(bound.map((each) => JSON.stringify(each)))).toEqual(
      new Set(expected.map((each) => JSON.stringify(each))),
    )
    expect(bound).toHaveLength(expected.length)
    const others = bindings.filter(({ roleRef }) => !names.has(roleRef.name))
    expect(others.map(({ roleRef, subjects }) => [roleRef.name, subjects.map(({ name }) => name)])).toEqual([
      ['system:node-bootstrapper', ['system:bootstrappers:joiner']],
      ['system:certificates.k8s.io:certificatesigningrequests:nodeclient', ['system:bootstrappers:joiner']],
    ])
  })

  test('people get rights by aggregation only, and nobody is bound to those of the command line', () => {
    const aggregated = ofShape(manifests, ['ClusterRole'], role).flatMap(({ metadata }) =>
      Object.keys(metadata.labels)
        .filter((label) => label.startsWith('rbac.authorization.k8s.io/'))
        .map((label) => [metadata.name, label]),
    )
    expect(aggregated).toEqual(
      ['view', 'edit', 'admin'].map((name) => [`joiner-${name}`, `rbac.authorization.k8s.io/aggregate-to-${name}`]),
    )
    const bindings = ofShape(manifests, ['RoleBinding', 'ClusterRoleBinding'], binding)
    expect(bindings.filter(({ roleRef }) => /-(operator|view|edit|admin)$/.test(roleRef.name))).toEqual([])
  })

  test('the environment of each Deployment is a configuration, and nothing in it goes unread', () => {
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(accounts)
    for (const each of deployments) {
      const environment = podEnvironment(manifests, each)
      const result = readConversionConfig(environment) ?? readConfig(environment)
      expect(result).toMatchObject({ kind: 'config' })
      // OpenTelemetry's own names are read where traces begin (workers/telemetry/telemetry.ts), those of Temporal by starter/temporal/settings.ts, and the roles of a
      // process that only converts before its settings.
      const read = [
        ...(result.kind === 'config' ? Object.keys(result.config) : []),
        'OTEL_EXPORTER_OTLP_ENDPOINT',
        'JOINER_ROLES',
        ...(rolesOf(each).includes('conversion') ? [] : ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE']),
      ]
      expect(Object.keys(environment).filter((name) => !read.includes(name))).toEqual([])
    }
  })

  test('the Deployments share all roles between them, each once', () => {
    expect(deployments.map(rolesOf)).toEqual([['core', 'bridge'], ['azure'], ['planner'], ['conversion']])
  })

  test('each Deployment runs a worker under an account of its own and knows itself by its pod', () => {
    for (const each of deployments) {
      const [container] = each.spec.template.spec.containers
      expect(container.command).toBeUndefined()
      expect(container.args).toEqual(['worker'])
      const { name } = each.metadata
      expect(each.spec.template.spec.serviceAccountName).toBe(name === 'joiner-azure' ? azureAccount : name)
      const environment = podEnvironment(manifests, each)
      expect(environment['JOINER_NAMESPACE']).toBe(releaseNamespace)
      if (name !== 'joiner-conversion') expect(environment['JOINER_IDENTITY']).toBe(`${name}-pod`)
    }
    const own = manifests.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name)
    expect(new Set(own)).toEqual(new Set(deployments.map(({ spec }) => spec.template.spec.serviceAccountName)))
  })

  test('only joiner-azure has an identity at Azure', () => {
    const identified = deployments.filter(
      ({ spec }) => spec.template.metadata.labels['azure.workload.identity/use'] === 'true',
    )
    expect(identified.map(({ metadata }) => metadata.name)).toEqual(['joiner-azure'])
    const annotated = manifests.filter(({ kind, metadata }) => kind === 'ServiceAccount' && metadata.annotations)
    expect(annotated.map(({ metadata }) => metadata.name)).toEqual(values === fullValues ? ['scaler'] : [])
  })

  test('the probes ask the port on which the process serves health', () => {
    for (const each of deployments) {
      const [{ ports, ...container }] = each.spec.template.spec.containers
      const asked = (name: string) => ports.find((port) => port.name === name)?.containerPort
      const port = Number(podEnvironment(manifests, each)['JOINER_HEALTH_PORT'])
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
      expect(probes.map(({ httpGet }) => httpGet.path)).toEqual(['/healthz', '/healthz', '/readyz'])
      expect(probes.map(({ httpGet }) => asked(httpGet.port))).toEqual([port, port, port])
    }
  })

  test('pods spread over zones, and cannot fill the disk of their node', () => {
    for (const { spec } of deployments) {
      const pod = spec.template.spec as unknown as {
        readonly topologySpreadConstraints: readonly { readonly topologyKey: string }[]
        readonly volumes: readonly { readonly emptyDir?: { readonly sizeLimit?: string } }[]
      }
      expect(pod.topologySpreadConstraints.map(({ topologyKey }) => topologyKey)).toEqual([
        'topology.kubernetes.io/zone',
        'kubernetes.io/hostname',
      ])
      expect(pod.volumes.filter(({ emptyDir }) => emptyDir).map(({ emptyDir }) => emptyDir?.sizeLimit)).toEqual([
        '64Mi',
      ])
    }
  })

  test('the API server finds every replica that converts, ready or not, where the CRDs say', async () => {
    const found = ofShape(manifests, ['Service'], service).find(({ metadata }) => metadata.name === 'joiner-conversion')
    expect(found?.metadata).toMatchObject({ name: 'joiner-conversion', namespace: releaseNamespace })
    if (found === undefined) throw new Error('the chart has no Service')
    const { selector, ports, publishNotReadyAddresses } = found.spec
    expect(publishNotReadyAddresses).toBe(true)
    const converting = deployments.filter(({ spec }) => matches(spec.template.metadata.labels, selector))
    expect(converting.map(({ metadata }) => metadata.name)).toEqual(['joiner-conversion'])
    for (const each of converting) {
      const target = each.spec.template.spec.containers[0].ports.find(({ name }) => name === ports[0].targetPort)
      expect(String(target?.containerPort)).toBe(podEnvironment(manifests, each)['JOINER_CONVERSION_PORT'])
    }
    for (const name of ['karpenter.sh_nodepools.yaml', 'karpenter.sh_nodeclaims.yaml']) {
      const crd: unknown = parse(await readFile(join(crdFolder, name), 'utf8'))
      const named = { name: 'joiner-conversion', port: ports[0].port, path: '/convert' }
      expect(crd).toMatchObject({
        spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { service: named } } } },
      })
    }
  })

  test('v1beta1 of NodeClaims is served where a value asks for it, which the pods read in their Secret', async () => {
    const [secret] = manifests.filter(({ kind }) => kind === 'Secret')
    expect(secret?.metadata.annotations).toEqual({ [serveAnnotation]: String(values === fullValues) })
    const crd = parse(await readFile(join(crdFolder, 'karpenter.sh_nodeclaims.yaml'), 'utf8')) as {
      readonly spec: { readonly versions: readonly { readonly name: string; readonly served: boolean }[] }
    }
    expect(crd.spec.versions.map(({ name, served }) => [name, served])).toEqual([
      ['v1', true],
      ['v1beta1', false],
    ])
  })

  test('each Deployment selects its own pods, and one PodDisruptionBudget protects just these', () => {
    const budgets = ofShape(manifests, ['PodDisruptionBudget'], budget)
    expect(budgets).toHaveLength(deployments.length)
    for (const each of deployments) {
      const selecting = (labels: Readonly<Record<string, string>>) =>
        deployments.filter(({ spec }) => matches(spec.template.metadata.labels, labels))
      expect(selecting(each.spec.selector.matchLabels)).toEqual([each])
      const guards = budgets.filter(({ spec }) =>
        matches(each.spec.template.metadata.labels, spec.selector.matchLabels),
      )
      expect(guards).toHaveLength(1)
      expect(guards[0]?.spec.maxUnavailable).toBe(1)
      expect(selecting(guards[0]?.spec.selector.matchLabels ?? {})).toEqual([each])
    }
  })

  test('Joiner never runs on a node that it makes', () => {
    for (const each of deployments)
      expect(each.spec.template.spec).toMatchObject({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' }] }],
            },
          },
        },
      })
  })
})

function matches(labels: Readonly<Record<string, string>>, selector: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value)
}
