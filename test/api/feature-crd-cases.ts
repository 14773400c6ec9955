import { wellKnownLabels } from '../../core/requirements/labels.ts'

type Spec = Readonly<Record<string, unknown>>

/** What upstream's tests of the API say of specs: the titles are theirs (pkg/apis/v1alpha1/nodeoverlay_validation_test.go, autoscaling/v1beta1). */
export interface CrdCase {
  readonly title: string
  readonly specs: readonly Spec[]
  /** `atRuntime`: the API server accepts it, and Joiner refuses it in a condition. */
  readonly verdict: 'accepted' | 'refused' | 'atRuntime'
  /** Fields of the spec as it is stored. */
  readonly stored?: Spec
}

const rows = (verdict: CrdCase['verdict'], cases: readonly (readonly [string, ...Spec[]])[]): readonly CrdCase[] =>
  cases.map(([title, ...specs]) => ({ title, specs, verdict }))

const zone = 'topology.kubernetes.io/zone'
const requirement = (key: string, operator = 'Exists', values?: readonly string[]) => ({
  requirements: [{ key, operator, ...(values === undefined ? {} : { values }) }],
})
const overlay = (change: Spec) => ({ ...requirement('karpenter.sh/capacity-type'), ...change })

/** Bounds that are no single positive integer. */
const noBound = (operators: readonly string[]) =>
  operators.flatMap((operator) => [[], ['1', '2'], ['a'], ['-1']].map((values) => requirement(zone, operator, values)))

/** Texts that are no price. */
const noPrice = [
  ['No explicit plus sign allowed', '+42'],
  ['Must have leading digit', '.5'],
  ['Must have trailing digits after decimal', '42.'],
  ['No percentage sign allowed', '42%'],
  ['No commas allowed', '3,14'],
  ['No scientific notation', '1e10'],
  ['No hex notation', '0x42'],
  ['No text', 'forty-two'],
  ['No letters', '42a'],
  ['No spaces', '42 '],
  ['No spaces', ' 42'],
  ['Multiple decimal points', '42.0.0'],
  ['Just a sign', '-'],
  ['Just a decimal point', '.'],
] as const

/** Upstream leaves out the first two as well; the last one is refused by the CRDs of Azure's provider (vectors `azure/label-key-validation`). */
const notAsked: ReadonlySet<string> = new Set([
  'karpenter.sh/nodepool',
  'karpenter.sh/capacity-type',
  'karpenter.azure.com/sku-hyperv-generation',
])

export const overlayCases: readonly CrdCase[] = [
  ...rows('refused', [
    ['should fail for no values for In operator', requirement('Test', 'In'), requirement('Test', 'In', [])],
    ['should fail for no values for NotIn operator', requirement('Test', 'NotIn'), requirement('Test', 'NotIn', [])],
    [
      'should fail for invalid requirement keys',
      ...['test.com.com}', 'Test.com/test', 'test/test/test', 'test/', '/test'].map((key) => requirement(key)),
    ],
    ['should fail for unsupported ops', requirement(zone, 'unknown', ['test'])],
    ['should fail for restricted domains', requirement('karpenter.sh/test', 'In', ['test'])],
    ['should fail with invalid GT or LT values', ...noBound(['Gt', 'Lt'])],
    ['should fail with invalid GTE or LTE values', ...noBound(['Gte', 'Lte'])],
  ]),
  ...rows('accepted', [
    ['should succeed for valid requirement keys, of one', requirement('Test')],
    [
      'should succeed for valid requirement keys, of several',
      {
        requirements: ['Test', 'test.com/Test', 'test.com.com/test', 'key-only'].flatMap(
          (key) => requirement(key).requirements,
        ),
      },
    ],
    ['should allow for the karpenter.sh/nodepool label', requirement('karpenter.sh/nodepool', 'In', ['some-pool'])],
    [
      'should allow supported ops',
      {
        requirements: [
          ...requirement(zone, 'In', ['test']).requirements,
          ...['Gt', 'Lt', 'Gte', 'Lte', 'NotIn'].flatMap((operator) => requirement(zone, operator, ['1']).requirements),
          ...requirement(zone).requirements,
        ],
      },
    ],
    [
      'should allow kubernetes domains exceptions',
      ...['kubernetes.io', 'k8s.io'].map((domain) => requirement(`${domain}/test`, 'In', ['test'])),
    ],
    [
      'should allow kubernetes subdomains exceptions',
      ...['kubernetes.io', 'k8s.io'].map((domain) => requirement(`subdomain.${domain}/test`, 'In', ['test'])),
    ],
    [
      'should allow well known label exceptions',
      ...[...wellKnownLabels].filter((key) => !notAsked.has(key)).map((key) => requirement(key)),
    ],
    [
      'should allow non-empty set after removing overlapped value',
      {
        requirements: [
          ...requirement(zone, 'In', ['test', 'foo']).requirements,
          ...requirement(zone, 'NotIn', ['test', 'bar']).requirements,
        ],
      },
    ],
    ['should allow empty requirements', { requirements: [] }, requirement('test')],
  ]),
  ...rows('atRuntime', [
    [
      'should fail at runtime for requirement keys that are too long',
      requirement(`test.com.test.${'a'.repeat(250)}/test`),
      requirement(`test.com.test/test-${'a'.repeat(250)}`),
    ],
  ]),
  ...rows('refused', [
    ['shout not be able to set both price and priceAdjustment', overlay({ price: '0.432', priceAdjustment: '+10%' })],
    // Upstream's table of adjustments sets the price, too; here both are asked.
    ...[
      ...noPrice,
      ['No leading digit after sign', '-100.0%'],
      ['less -100% float', '-101.1%'],
      ['less -100% integer', '-129'],
    ].map(([title, text]) => [`priceAdjustment: ${title}: "${text}"`, overlay({ price: text })] as const),
    ['should not allow an unsigned priceAdjustment percentage', overlay({ priceAdjustment: '1%' })],
    ['should not allow an unsigned priceAdjustment integer', overlay({ priceAdjustment: '1' })],
    ['should not allow an unsigned priceAdjustment float', overlay({ priceAdjustment: '1.3' })],
    ...[...noPrice, ['No leading digit after sign', '-.42']].map(
      ([title, text]) => [`price: ${title}: "${text}"`, overlay({ price: text })] as const,
    ),
  ]),
  ...rows('accepted', [
    ['should allow positive percentage value for priceAdjustment field', overlay({ priceAdjustment: '+1%' })],
    ['should allow negative percentage less then 0%', overlay({ priceAdjustment: '-1%' })],
    ['should allow negative percentage -100%', overlay({ priceAdjustment: '-100%' })],
    ['should allow positive percentage greater then 100%', overlay({ priceAdjustment: '+100.102%' })],
    ['should allow positive percentage greater then 100% with an integer', overlay({ priceAdjustment: '+298%' })],
    ['should allow positive integer value', overlay({ priceAdjustment: '+43' })],
    ['should allow negative integer value', overlay({ priceAdjustment: '-43' })],
    ['should allow positive float value', overlay({ priceAdjustment: '+34.43' })],
    ['should allow negative float value', overlay({ priceAdjustment: '-34.43' })],
    ['price: should allow integer value', overlay({ price: '43' })],
    ['price: should allow float value', overlay({ price: '34.43' })],
    ['should allow custom resources', overlay({ capacity: { 'smarter-devices/fuse': '1' } })],
  ]),
  ...rows('refused', [
    ['should not allow cpu resources override', overlay({ capacity: { cpu: '1' } })],
    ['should not allow memory resources override', overlay({ capacity: { memory: '34Gi' } })],
    ['should not allow ephemeral-storage resources override', overlay({ capacity: { 'ephemeral-storage': '34Gi' } })],
    ['should not allow pod resources override', overlay({ capacity: { pods: '324' } })],
  ]),
]

const podTemplateRef = { name: 'my-template' }
const deployment = { apiGroup: 'apps', kind: 'Deployment', name: 'my-deploy' }

export const bufferCases: readonly CrdCase[] = [
  {
    title: 'should create and retrieve a CapacityBuffer resource',
    specs: [{ podTemplateRef, replicas: 5 }],
    verdict: 'accepted',
    stored: { podTemplateRef, replicas: 5 },
  },
  {
    title: 'should set default provisioningStrategy',
    specs: [{ podTemplateRef, replicas: 1 }],
    verdict: 'accepted',
    stored: { provisioningStrategy: 'buffer.x-k8s.io/active-capacity' },
  },
  ...rows('accepted', [
    ['should accept a valid CapacityBuffer with podTemplateRef and replicas', { podTemplateRef, replicas: 3 }],
    ['should accept a valid CapacityBuffer with podTemplateRef and limits', { podTemplateRef, limits: { cpu: '4' } }],
    ['should accept a valid CapacityBuffer with scalableRef', { scalableRef: deployment, replicas: 5 }],
    [
      'should accept scalableRef with empty apiGroup for core API group',
      { scalableRef: { kind: 'ReplicationController', name: 'my-rc' }, replicas: 1 },
      { scalableRef: { apiGroup: '', kind: 'ReplicationController', name: 'my-rc' }, replicas: 1 },
    ],
    ['should accept zero replicas', { podTemplateRef, replicas: 0 }],
    ['should accept zero percentage', { scalableRef: deployment, percentage: 0 }],
    ['should accept both replicas and percentage together', { scalableRef: deployment, replicas: 10, percentage: 20 }],
    ['should accept scalableRef without replicas or limits', { scalableRef: deployment }],
  ]),
  ...rows('refused', [
    [
      'should reject setting both podTemplateRef and scalableRef',
      { podTemplateRef, scalableRef: deployment, replicas: 3 },
    ],
    ['should reject podTemplateRef without replicas or limits', { podTemplateRef }, { podTemplateRef, percentage: 10 }],
    ['should reject negative replicas', { podTemplateRef, replicas: -1 }],
    ['should reject negative percentage', { scalableRef: deployment, percentage: -1 }],
    ['should reject empty podTemplateRef name', { podTemplateRef: { name: '' }, replicas: 1 }],
    ['should reject empty scalableRef kind', { scalableRef: { ...deployment, kind: '' }, replicas: 1 }],
    ['should reject empty scalableRef name', { scalableRef: { ...deployment, name: '' }, replicas: 1 }],
  ]),
]
