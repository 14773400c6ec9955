import { hostnameKey, zoneKey } from '../../bench/workloads/scenario.ts'

/** Parts of a pod that its author may make as large as the API server takes them. */
interface Parts {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly object[]
  readonly spec?: Readonly<Record<string, unknown>>
}

/** A way to make a pod expensive. */
interface HostileShape {
  readonly name: string
  /** How many of its parts the API server takes at most, by kube-apiserver 1.36 with etcd's default limits. */
  readonly most: number
  /** The parts of pod number `pod`, so many of them. Pods differ in nothing but names in them. */
  readonly make: (count: number, pod: number) => Parts
}

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const record = (count: number, key: (at: number) => string, value: string) =>
  Object.fromEntries(times(count, (at) => [key(at), value]))
const own = (pod: number, at: number) => `h.io/p${pod}-${at}`
const long = (at: number) => `v${String(at).padStart(61, '0')}`

const everybody = { namespaceSelector: {}, labelSelector: {} }
const term = (pod: number, at: number) => ({ ...everybody, topologyKey: own(pod, at) })
/** A term about everybody that is a rule of its own all the same. */
const selecting = (pod: number, at: number, topologyKey: string) => ({
  namespaceSelector: {},
  labelSelector: { matchExpressions: [{ key: own(pod, at), operator: 'DoesNotExist' }] },
  topologyKey,
})
const required = (list: readonly object[]) => ({ requiredDuringSchedulingIgnoredDuringExecution: list })
const preferred = (list: readonly object[], name: 'podAffinityTerm' | 'preference') => ({
  preferredDuringSchedulingIgnoredDuringExecution: list.map((one, at) => ({ weight: (at % 100) + 1, [name]: one })),
})
const affinity = (kinds: object): Parts => ({ spec: { affinity: kinds } })
const notIn = (key: string, values: readonly string[]) => ({ matchExpressions: [{ key, operator: 'NotIn', values }] })
const nodeTerms = (nodeSelectorTerms: readonly object[]) =>
  affinity({ nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } })
const spreads = (list: readonly object[]): Parts => ({ spec: { topologySpreadConstraints: list } })
const anyway = (pod: number, at: number) => ({
  maxSkew: 1,
  topologyKey: own(pod, at),
  whenUnsatisfiable: 'ScheduleAnyway',
  labelSelector: {},
})
const containers = (count: number, more: (at: number) => object): Parts => ({
  spec: { containers: times(count, (at) => ({ name: `c${at}`, image: 'pause', ...more(at) })) },
})

/** What a search over a pod's fields found to be expensive, or large. */
export const hostileShapes: readonly HostileShape[] = [
  {
    name: 'spreads that give way',
    most: 31_232,
    make: (count, pod) => spreads(times(count, (at) => anyway(pod, at))),
  },
  {
    name: 'required spreads',
    most: 27_648,
    make: (count, pod) =>
      spreads(times(count, (at) => ({ ...anyway(pod, at), whenUnsatisfiable: 'DoNotSchedule', minDomains: 1 }))),
  },
  {
    name: 'preferred affinity',
    most: 16_384,
    make: (count, pod) =>
      affinity({
        podAffinity: preferred(
          times(count, (at) => selecting(pod, at, zoneKey)),
          'podAffinityTerm',
        ),
      }),
  },
  {
    name: 'preferred anti-affinity, keys of its own',
    most: 29_696,
    make: (count, pod) =>
      affinity({
        podAntiAffinity: preferred(
          times(count, (at) => term(pod, at)),
          'podAffinityTerm',
        ),
      }),
  },
  {
    name: 'preferred anti-affinity by hostname',
    most: 16_896,
    make: (count, pod) =>
      affinity({
        podAntiAffinity: preferred(
          times(count, (at) => selecting(pod, at, hostnameKey)),
          'podAffinityTerm',
        ),
      }),
  },
  {
    name: 'required anti-affinity to everybody, keys of its own',
    most: 42_496,
    make: (count, pod) => affinity({ podAntiAffinity: required(times(count, (at) => term(pod, at))) }),
  },
  {
    name: 'required anti-affinity to everybody by hostname',
    most: 20_480,
    make: (count, pod) =>
      affinity({ podAntiAffinity: required(times(count, (at) => selecting(pod, at, hostnameKey))) }),
  },
  {
    name: 'required affinity',
    most: 19_968,
    make: (count, pod) => affinity({ podAffinity: required(times(count, (at) => selecting(pod, at, zoneKey))) }),
  },
  {
    name: 'required node affinity terms',
    most: 38_912,
    make: (count, pod) => nodeTerms(times(count, (at) => notIn(own(pod, at), ['x']))),
  },
  {
    name: 'required node affinity terms that no node meets',
    most: 47_104,
    make: (count, pod) =>
      nodeTerms(times(count, (at) => ({ matchExpressions: [{ key: own(pod, at), operator: 'Exists' }] }))),
  },
  {
    name: 'preferred node affinity terms',
    most: 29_184,
    make: (count, pod) =>
      affinity({
        nodeAffinity: preferred(
          times(count, (at) => notIn(own(pod, at), ['x'])),
          'preference',
        ),
      }),
  },
  {
    name: 'a list of excluded zones',
    most: 24_320,
    make: (count, pod) => nodeTerms([notIn(zoneKey, [`p${pod}`, ...times(count, long)])]),
  },
  {
    name: 'a list of wanted zones',
    most: 24_320,
    make: (count, pod) =>
      nodeTerms([
        { matchExpressions: [{ key: zoneKey, operator: 'In', values: ['1', `p${pod}`, ...times(count, long)] }] },
      ]),
  },
  {
    name: 'keys of its own that must not exist',
    most: 50_688,
    make: (count, pod) =>
      nodeTerms([{ matchExpressions: times(count, (at) => ({ key: own(pod, at), operator: 'DoesNotExist' })) }]),
  },
  {
    name: 'one preferred value of great length',
    most: 1_556_480,
    make: (count, pod) =>
      affinity({ nodeAffinity: preferred([notIn(own(pod, 0), ['x'.repeat(count)])], 'preference') }),
  },
  {
    name: 'a node selector',
    most: 78_848,
    make: (count, pod) => ({ spec: { nodeSelector: record(count, (at) => own(pod, at), 'x') } }),
  },
  {
    name: 'a selector of many labels',
    most: 78_848,
    make: (count, pod) =>
      spreads([
        {
          ...anyway(pod, 0),
          topologyKey: zoneKey,
          labelSelector: { matchLabels: record(count, (at) => own(pod, at), 'x') },
        },
      ]),
  },
  {
    name: 'a selector of many values',
    most: 24_320,
    make: (count, pod) =>
      affinity({
        podAntiAffinity: required([
          {
            namespaceSelector: {},
            labelSelector: {
              matchExpressions: [{ key: 'app', operator: 'NotIn', values: [`p${pod}`, ...times(count, long)] }],
            },
            topologyKey: hostnameKey,
          },
        ]),
      }),
  },
  {
    name: 'namespaces',
    most: 24_320,
    make: (count, pod) =>
      affinity({
        podAffinity: required([
          { labelSelector: {}, namespaces: [`p${pod}`, ...times(count, long)], topologyKey: zoneKey },
        ]),
      }),
  },
  {
    name: 'labels',
    most: 78_848,
    make: (count, pod) => ({ labels: record(count, (at) => own(pod, at), 'x') }),
  },
  {
    name: 'labels, and spreads by each of them',
    most: 19_968,
    make: (count, pod) => ({
      labels: record(count, (at) => own(pod, at), 'x'),
      ...spreads([
        {
          maxSkew: 1,
          topologyKey: zoneKey,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: {},
          matchLabelKeys: times(count, (at) => own(pod, at)),
        },
      ]),
    }),
  },
  {
    name: 'annotations',
    most: 258_048,
    make: (count, pod) => ({ annotations: { [own(pod, 0)]: 'x'.repeat(count) } }),
  },
  {
    name: 'tolerations',
    most: 52_224,
    make: (count, pod) => ({
      spec: { tolerations: times(count, (at) => ({ key: own(pod, at), operator: 'Exists' })) },
    }),
  },
  {
    name: 'owner references',
    most: 46_080,
    make: (count, pod) => ({
      ownerReferences: times(count, (at) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: `p${pod}`,
        uid: `p${pod}-${at}`,
      })),
    }),
  },
  {
    name: 'containers that ask for resources of their own',
    most: 8_320,
    make: (count, pod) =>
      containers(count, (at) => ({
        resources: { limits: { [own(pod, at)]: '1' }, requests: { [own(pod, at)]: '1' } },
      })),
  },
  {
    name: 'a container that asks for many resources',
    most: 35_840,
    make: (count, pod) => {
      const amounts = record(count, (at) => own(pod, at), '1')
      return containers(1, () => ({ resources: { limits: amounts, requests: amounts } }))
    },
  },
  {
    name: 'host ports',
    most: 54_272,
    make: (count) =>
      containers(1, () => ({
        ports: times(count, (at) => ({ containerPort: at + 1, hostPort: at + 1, protocol: 'TCP' })),
      })),
  },
  {
    name: 'volumes',
    most: 47_104,
    make: (count, pod) => ({
      spec: {
        volumes: times(count, (at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName: `p${pod}-${at}` } })),
      },
    }),
  },
  {
    name: 'resource claims',
    most: 64_512,
    make: (count, pod) => ({
      spec: { resourceClaims: times(count, (at) => ({ name: `d${at}`, resourceClaimName: `p${pod}-${at}` })) },
    }),
  },
  {
    name: 'init containers that keep running',
    most: 9_216,
    make: (count, pod) => ({
      spec: {
        initContainers: times(count, (at) => ({
          name: `p${pod}-${at}`,
          image: 'pause',
          restartPolicy: 'Always',
          resources: { requests: { cpu: '1m' } },
        })),
      },
    }),
  },
]
