import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { stringify } from 'yaml'
import { type Admission, type AdmissionRequest, admissionOf, type BoundPolicy } from '../../api/rules/admission.ts'
import { chartAdmission, creationOf } from '../../api/rules/chart-admission.ts'
import { withoutNulls } from '../../api/rules/schema-errors.ts'
import { controllerManagerSpec, policyTypesController } from '../../deploy/local/kubernetes.ts'
import { validateObject } from '../../starter/cli/validate/validate-object.ts'
import { nodeClass, nodePool } from '../applied-objects.ts'
import { patient } from '../runner/patience.ts'
import {
  type ClusterObject,
  classOf,
  localDns,
  long,
  overlay,
  pool,
  randomPool,
  requirement,
} from './admission-objects.ts'
import { AdmissionServer, type Answer } from './admission-server.ts'
import { celCases, celObject } from './cel-cases.ts'
import { privilegedRequests } from './privileged-requests.ts'

let server: AdmissionServer
/** As the API server has them. */
let policies: readonly BoundPolicy[]

beforeAll(async () => {
  server = await AdmissionServer.start()
  policies = await server.policies()
  // Policies take effect a moment after they were created, each at its own time.
  for (const object of [
    pool({ spec: { replicas: 1 } }),
    classOf({ fipsMode: 'FIPS', imageFamily: 'AzureLinux' }),
    overlay,
  ])
    await vi.waitFor(async () => expect((await create(object)).warnings).not.toEqual([]), { timeout: patient(30_000) })
})

afterAll(() => server?.stop())

const create = (object: ClusterObject): Promise<Answer> => server.ask(creationOf(object))

const offlineWarnings = (object: ClusterObject) =>
  chartAdmission(withoutNulls(object) as ClusterObject).warnings.map(({ message }) => message)

interface Outcome {
  /** The first violation that denies it. */
  readonly denied: Admission['denied'][number] | undefined
  readonly warnings: Admission['warnings']
}

/** Errors: the answer is about something else than a policy. */
function outcomeOf({ status, message = '', warnings }: Answer): Outcome {
  const [, policy, why = ''] =
    /ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)$/s.exec(message) ?? []
  if (status >= 300 && policy === undefined) throw new Error(`${status}: ${message}`)
  return {
    denied: policy === undefined ? undefined : { policy, message: why },
    warnings: warnings.flatMap((text) => {
      const [, by = '', warning = ''] =
        /^Validation failed for ValidatingAdmissionPolicy '([^']+)' with binding '[^']+': (.*)$/s.exec(text) ?? []
      return by === '' ? [] : [{ policy: by, message: warning }]
    }),
  }
}

function offlineOutcome(request: AdmissionRequest): Outcome {
  const { denied, warnings } = admissionOf(request, policies)
  return { denied: denied[0], warnings }
}

describe('what works is not warned of', () => {
  test.each<[string, ClusterObject]>([
    ['a NodePool', nodePool()],
    [
      'requirements that leave values',
      pool({ template: { requirements: [requirement('a', 'In', 'x', 'y'), requirement('a', 'NotIn', 'y')] } }),
    ],
    ['requirements without values', pool({ template: { requirements: [{ key: 'a', operator: 'Exists' }] } })],
    [
      'the same taint with two effects',
      pool({
        template: { taints: [{ key: 'a', effect: 'NoSchedule' }], startupTaints: [{ key: 'a', effect: 'NoExecute' }] },
      }),
    ],
    [
      'a JSON object as kubelet',
      pool({ annotations: { 'compatibility.karpenter.sh/v1beta1-kubelet-conversion': ' {"maxPods":42}' } }),
    ],
    [
      'values that sizes and zones have, also below bounds',
      pool({
        template: {
          requirements: [
            requirement('topology.kubernetes.io/zone', 'In', 'eastus-1', '0'),
            requirement('karpenter.azure.com/sku-family', 'NotIn', 'B'),
            requirement('karpenter.azure.com/sku-memory', 'Gt', '8191'),
            requirement('karpenter.azure.com/sku-version', 'Gt', '4'),
            requirement('kubernetes.azure.com/fips_enabled', 'DoesNotExist'),
          ],
        },
      }),
    ],
    [
      'a budget that always holds, beside one with a schedule',
      pool({
        spec: { disruption: { budgets: [{ nodes: '0', schedule: '@daily', duration: '8h' }, { nodes: '10%' }] } },
      }),
    ],
    [
      'a schedule that begins each day and lasts a day',
      pool({ spec: { disruption: { budgets: [{ nodes: '1', schedule: '0 6 * * *', duration: '24h' }] } } }),
    ],
    ['an AKSNodeClass', nodeClass()],
    [
      'kubelet settings',
      classOf({ kubelet: { cpuManagerPolicy: 'static', cpuCFSQuotaPeriod: '200ms', failSwapOn: false } }),
    ],
    ['kernel settings', classOf({ linuxOSConfig: { transparentHugePageEnabled: 'always' } })],
    ['swap', classOf({ linuxOSConfig: { swapFileSize: '2Gi' }, kubelet: { failSwapOn: false } })],
    ...['Disabled', 'Preferred', 'Required'].map((mode): [string, ClusterObject] => [
      `local DNS ${mode}`,
      classOf({ localDNS: localDns(mode) }),
    ]),
  ])('%s', async (_what, object) => {
    expect(await create(object)).toMatchObject({ status: 201, warnings: [] })
    expect(offlineWarnings(object)).toEqual([])
  })
})

describe('what cannot work is accepted with a warning that names field, value and remedy', () => {
  test.each<[string, ClusterObject, RegExp]>([
    [
      'a static pool',
      pool({ spec: { replicas: 3 } }),
      /spec\.replicas 3: the gate StaticCapacity is off.*featureGates\.staticCapacity of the chart$/,
    ],
    [
      'requirements that exclude each other',
      pool({
        template: { requirements: [requirement('team', 'In', 'red', 'blue'), requirement('team', 'In', 'green')] },
      }),
      /requirements: no value of team .*\(one asks for red, blue\).*; remove one of them$/,
    ],
    [
      'a requirement that excludes all that another asks for',
      pool({
        template: { requirements: [requirement('team', 'In', 'red'), requirement('team', 'NotIn', 'red', 'blue')] },
      }),
      /no value of team /,
    ],
    [
      'an unknown capacity type',
      pool({ template: { requirements: [requirement('karpenter.sh/capacity-type', 'In', 'reserve', 'spot')] } }),
      /karpenter\.sh\/capacity-type In reserve: .*use on-demand, spot or reserved$/,
    ],
    [
      'another operating system',
      pool({ template: { requirements: [requirement('kubernetes.io/os', 'In', 'windows')] } }),
      /kubernetes\.io\/os In windows: .*use linux$/,
    ],
    [
      'another architecture',
      pool({ template: { requirements: [requirement('kubernetes.io/arch', 'In', 'x86_64')] } }),
      /kubernetes\.io\/arch In x86_64: .*use amd64 or arm64$/,
    ],
    [
      'a family that Azure does not write so',
      pool({ template: { requirements: [requirement('karpenter.azure.com/sku-family', 'In', 'd')] } }),
      /sku-family In d: .*use the first letter of a size, such as D or N, or .*sku-series, such as NCads_v4$/,
    ],
    [
      'an instance type that Azure does not write so',
      pool({ template: { requirements: [requirement('node.kubernetes.io/instance-type', 'In', 'D4s_v5')] } }),
      /instance-type In D4s_v5: .*use names such as Standard_D4s_v5$/,
    ],
    [
      'zones by their numbers',
      pool({ template: { requirements: [requirement('topology.kubernetes.io/zone', 'In', '1', '2')] } }),
      /requirements: topology\.kubernetes\.io\/zone In 1, 2: .*use the region and the number of the zone, such as eastus-1$/,
    ],
    [
      'memory that is compared in GiB',
      pool({ template: { requirements: [requirement('karpenter.azure.com/sku-memory', 'Lt', '128')] } }),
      /sku-memory Lt 128: .*use MiB, such as 16384 for 16 GiB$/,
    ],
    [
      'a label with a value that no node has',
      pool({ metadata: { labels: { 'karpenter.azure.com/sku-gpu-name': 'nvidia-a100' } } }),
      /metadata\.labels: karpenter\.azure\.com\/sku-gpu-name = nvidia-a100: .*use the GPU in the name of a size/,
    ],
    [
      'labels of another provider',
      pool({
        template: {
          requirements: [
            requirement('karpenter.k8s.aws/instance-category', 'In', 'c'),
            requirement('topology.ebs.csi.aws.com/other', 'In', 'a'),
          ],
        },
      }),
      /instance-category: use karpenter\.azure\.com\/sku-family, such as D; topology\.ebs\.csi\.aws\.com\/other: remove it$/,
    ],
    [
      "another provider's NodePool",
      pool({
        spec: { replicas: 1 },
        template: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'x' } },
      }),
      /EC2NodeClass of karpenter\.k8s\.aws is of another provider, .*use kind AKSNodeClass and group karpenter\.azure\.com$/,
    ],
    [
      'budgets that hold at times only',
      pool({
        spec: {
          disruption: {
            budgets: [
              { nodes: '1', schedule: '0 9 * * mon-fri', duration: '8h' },
              { nodes: '5', reasons: ['Empty'] },
            ],
          },
        },
      }),
      /budgets: each entry for Drifted, Underutilized has a schedule.*add an entry without a schedule, such as nodes: "10%"$/,
    ],
    [
      'a taint in both lists',
      pool({
        template: { taints: [{ key: 'a', effect: 'NoSchedule' }], startupTaints: [{ key: 'a', effect: 'NoSchedule' }] },
      }),
      /a:NoSchedule is there more than once.*keep one$/,
    ],
    [
      'kubelet settings that are no JSON object',
      pool({ annotations: { 'compatibility.karpenter.sh/v1beta1-kubelet-conversion': 'maxPods: 42' } }),
      /v1beta1-kubelet-conversion\] .*maxPods: 42.* is not a JSON object.*remove the annotation$/,
    ],
    [
      'images with FIPS',
      classOf({ fipsMode: 'FIPS', imageFamily: 'AzureLinux' }),
      /spec\.fipsMode FIPS: .*set azure\.sharedGallery of the chart$/,
    ],
    ['a NodePool of a long name', long, /metadata\.name has 54 characters.*use at most 53$/],
    [
      'a node class of a long name',
      pool({ template: { nodeClassRef: { ...nodePool().spec.template.spec.nodeClassRef, name: 'n'.repeat(64) } } }),
      /nodeClassRef\.name has 64 characters.*use at most 63$/,
    ],
    ['an AKSNodeClass of a long name', nodeClass('n'.repeat(64)), /metadata\.name has 64 characters.*use at most 63$/],
    [
      'a NodeOverlay',
      overlay,
      /kind NodeOverlay, metadata\.name warned: the gate NodeOverlay is off.*featureGates\.nodeOverlay of the chart$/,
    ],
  ])('%s', async (_what, object, expected) => {
    const { status, warnings, message } = await create(object)
    expect({ status, message: status === 201 ? undefined : message }).toEqual({ status: 201, message: undefined })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(expected)
    // The server adds the names of policy and binding.
    const [offline = '', ...others] = offlineWarnings(object)
    expect(others).toEqual([])
    expect(warnings[0]?.endsWith(`: ${offline}`)).toBe(true)
  })
})

describe('offline as in the API server', () => {
  test('are the warnings about random NodePools', async () => {
    const count = { admitted: 0, warned: 0, validated: 0 }
    await fc.assert(
      fc.asyncProperty(randomPool(), async (object) => {
        const answer = await create(object)
        if (answer.status === 422) return
        const { warnings } = outcomeOf(answer)
        const texts = warnings.map(({ message }) => message)
        expect(offlineWarnings(object)).toEqual(texts)
        expect(offlineOutcome(creationOf(answer.body))).toEqual({ denied: undefined, warnings })
        count.admitted += 1
        count.warned += warnings.length
        const result = validateObject(object)
        if (result.kind !== 'checked' || result.errors.length > 0) return
        expect(result.warnings).toEqual(texts)
        count.validated += 1
      }),
      { numRuns: 200 },
    )
    console.log(
      `${count.admitted} random NodePools admitted, ${count.warned} warnings, ${count.validated} valid offline`,
    )
    expect(Math.min(count.admitted, count.warned, count.validated)).toBeGreaterThan(30)
  })

  test('are expressions that the API server understands', async () => {
    interface Policy {
      readonly metadata: { readonly name: string }
      readonly status?: { readonly typeChecking?: object }
    }
    const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
    const { supervisor } = server.cluster
    const checking = { ...controllerManagerSpec(server.cluster, policyTypesController), name: 'policy-types' }
    onTestFinished(async () => void (await supervisor.stop(checking.name)))
    supervisor.start(checking)
    const found = await vi.waitFor(
      async () => {
        const { items } = await server.operator.api<{ items: readonly Policy[] }>('GET', path)
        expect(items.filter(({ status }) => status?.typeChecking === undefined)).toEqual([])
        return items
      },
      { timeout: patient(30_000) },
    )
    expect(found.map(({ metadata }) => metadata.name)).toContain('joiner-conversion')
    expect(found.map(({ status }) => status?.typeChecking)).toEqual(found.map(() => ({})))
  })

  test("are the refusals of Joiner's accounts, and of nobody else", async () => {
    const requests = await privilegedRequests(server.operator)
    for (const [what, request, isDenied] of requests) {
      const outcome = outcomeOf(await server.ask(request))
      expect({ what, ...outcome }).toEqual({ what, ...offlineOutcome(request) })
      expect({ what, isDenied: outcome.denied !== undefined }).toEqual({ what, isDenied })
    }
  })

  test('are the values of CEL expressions', async () => {
    const casesEach = 20
    const groups = Math.ceil(celCases.length / casesEach)
    const values = new Map<number, string | undefined>()
    await server.operator.kubectl(
      ['apply', '--server-side', '-f', '-'],
      Array.from({ length: groups }, (_, group) => celPolicy(group, group * casesEach, (group + 1) * casesEach)).join(
        '---\n',
      ),
    )
    for (let group = 0; group < groups; group++) {
      const request = {
        operation: 'CREATE',
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        namespace: 'default',
        userInfo: { username: '' },
        object: { ...celObject, metadata: { ...celObject.metadata, name: `cel-${group}` } },
      } as const
      const { warnings } = await vi.waitFor(
        async () => {
          const answer = outcomeOf(await server.ask(request))
          expect(answer.warnings).not.toEqual([])
          return answer
        },
        { timeout: patient(30_000) },
      )
      for (const { message } of warnings) {
        const [, index, value] = /^(\d+)(?: is (.*)| fails)$/s.exec(message) ?? []
        values.set(Number(index), value)
      }
    }
    expect(
      celCases.map(([expression], index) => [expression, values.has(index) ? values.get(index) : 'not told']),
    ).toEqual(celCases.map(([expression, text]) => [expression, text]))
  })
})

/** A policy that tells the values of some cases as warnings, for the ConfigMap of its number. */
function celPolicy(group: number, from: number, to: number): string {
  const metadata = { name: `cel-${group}` }
  const api = 'admissionregistration.k8s.io/v1'
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }
  const spec = {
    matchConstraints: { resourceRules: [rule] },
    matchConditions: [{ name: 'named', expression: `object.metadata.name == 'cel-${group}'` }],
    validations: celCases.slice(from, to).map(([expression], index) => ({
      expression: 'false',
      message: `${from + index} fails`,
      messageExpression: `'${from + index} is ' + string(${expression})`,
    })),
  }
  const binding = { policyName: metadata.name, validationActions: ['Warn'] }
  return [
    { apiVersion: api, kind: 'ValidatingAdmissionPolicy', metadata, spec },
    { apiVersion: api, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec: binding },
  ]
    .map((object) => stringify(object))
    .join('---\n')
}
