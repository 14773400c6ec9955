import { ruleText } from './crd-facts.ts'

/** A fact in which Joiner's CRDs differ from upstream's on purpose; `undefined` where a side says nothing. */
export interface Difference {
  readonly facts: readonly string[]
  readonly upstream?: string
  readonly ours?: string
  readonly reason: string
}

/** Rules that together mean the same, wherever both stand at the same place. */
export interface SameRules {
  readonly upstream: readonly string[]
  readonly ours: readonly string[]
  readonly reason: string
}

const references = ['nodepools.spec.template.spec.nodeClassRef', 'nodeclaims.spec.nodeClassRef'].flatMap((at) =>
  ['group', 'kind', 'name'].map((field) => `${at}.${field}`),
)
const requirementValues = [
  'nodepools.spec.template.spec.requirements[].values',
  'nodeclaims.spec.requirements[].values',
  'nodeoverlays.spec.requirements[].values',
]

export const differences: readonly Difference[] = [
  {
    facts: ['nodepools versions', 'nodeclaims versions'],
    upstream: 'v1',
    ours: 'v1, v1beta1',
    reason: 'manifests of 2024 apply unchanged; NodeClaims that are stored as v1beta1 can be read',
  },
  {
    facts: references.map((at) => `${at} rule self!=""`),
    upstream: 'holds',
    reason: 'minLength says the same, and editors and kubectl explain can read it',
  },
  { facts: references.map((at) => `${at} minLength`), ours: '1', reason: 'instead of the rule self != ""' },
  {
    facts: requirementValues.map((at) => `${at} maxLength`),
    upstream: '63',
    reason: 'a length of texts on a list is never looked at; the runtime validation names the value',
  },
  {
    facts: requirementValues.map((at) => `${at} pattern`),
    upstream: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$',
    reason: 'a pattern of texts on a list is never looked at; the runtime validation names the value',
  },
  {
    facts: ['nodepools.spec.disruption.consolidateAfter default'],
    ours: '0s',
    reason:
      "as in Karpenter's own CRD, which the provider's patch loses: manifests of other clouds' users leave it out",
  },
  {
    facts: ['aksnodeclasses.spec.osDiskType type'],
    ours: 'string',
    reason: 'a field of upstream that is newer than the table',
  },
  { facts: ['aksnodeclasses.spec.osDiskType enum'], ours: '[Managed]', reason: 'its one value' },
  {
    facts: [
      'aksnodeclasses.spec.tags rule self.all(a,self.exists_one(b,a.replace("/","_").lowerAscii()==b.replace("/","_").lowerAscii()))',
    ],
    ours: 'holds',
    reason: 'Azure refuses every VM with tags whose names differ by case; a slash in a name becomes an underscore',
  },
  { facts: ['aksnodeclasses.spec.tags maxProperties'], ours: '100', reason: 'bounds the cost of that rule' },
  {
    facts: ['aksnodeclasses.status.conditions x-kubernetes-list-type'],
    ours: 'map',
    reason: 'as for every other kind: writers of different conditions do not undo each other in server-side apply',
  },
  {
    facts: ['aksnodeclasses.status.conditions x-kubernetes-list-map-keys'],
    ours: '[type]',
    reason: 'the key of the list type map',
  },
]

const comparisons = ['netCoreRmemDefault netCoreRmemMax', 'netCoreWmemDefault netCoreWmemMax']
  .concat('netIPv4NeighDefaultGcThresh1 netIPv4NeighDefaultGcThresh2')
  .concat('netIPv4NeighDefaultGcThresh2 netIPv4NeighDefaultGcThresh3')
  .map((pair) => pair.split(' ') as [string, string])

const isFips = `has(self.fipsMode) && self.fipsMode == 'FIPS'`
const isTrusted =
  'has(self.security) && has(self.security.trustedLaunch) && ((has(self.security.trustedLaunch.vtpm) && self.security.trustedLaunch.vtpm) || (has(self.security.trustedLaunch.secureBoot) && self.security.trustedLaunch.secureBoot))'
const swap = '!has(self.linuxOSConfig) || !has(self.linuxOSConfig.swapFileSize) || '
const failSwapOn = 'has(self.kubelet) && has(self.kubelet.failSwapOn)'

export const sameRules: readonly SameRules[] = [
  {
    upstream: [
      "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
    ],
    ours: [
      "self.all(x, (x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
    ],
    reason: 'one list of operators',
  },
  {
    upstream: [
      "!has(self.replicas) || (!has(self.limits) || size(self.limits) == 0 || (size(self.limits) == 1 && 'nodes' in self.limits))",
    ],
    ours: ["!has(self.replicas) || (!has(self.limits) || self.limits.all(k, k == 'nodes'))"],
    reason: 'no key but nodes: empty, or nodes alone',
  },
  {
    upstream: [`${isFips} ? (has(self.imageFamily) && self.imageFamily != 'Ubuntu2404') : true`],
    ours: [`!(${isFips}) || (has(self.imageFamily) && self.imageFamily != 'Ubuntu2404')`],
    reason: 'an implication, written with "or"',
  },
  {
    upstream: [`${isFips} ? (has(self.imageFamily) && (self.imageFamily != 'Ubuntu2204' || (${isTrusted}))) : true`],
    ours: [`!(${isFips}) || (has(self.imageFamily) && (self.imageFamily != 'Ubuntu2204' || (${isTrusted})))`],
    reason: 'an implication, written with "or"',
  },
  {
    upstream: [
      `${isFips} && ${isTrusted} ? (!has(self.imageFamily) || self.imageFamily == 'Ubuntu' || self.imageFamily == 'Ubuntu2204') : true`,
    ],
    ours: [`!(${isFips}) || !(${isTrusted}) || !has(self.imageFamily) || self.imageFamily in ['Ubuntu', 'Ubuntu2204']`],
    reason: 'an implication, written with "or"',
  },
  {
    upstream: [`${swap} (${failSwapOn} && self.kubelet.failSwapOn == false)`],
    ours: [`${swap} (${failSwapOn} && !self.kubelet.failSwapOn)`],
    reason: 'not, instead of "equals false"',
  },
  ...comparisons.map(([low, high]) => ({
    upstream: [`has(self.${low}) && has(self.${high}) ? self.${low} <= self.${high} : true`],
    ours: [`!has(self.${low}) || !has(self.${high}) || self.${low} <= self.${high}`],
    reason: 'an implication, written with "or"',
  })),
  {
    upstream: [
      "!self.exists(x, x.zone != '.' && !x.zone.endsWith('cluster.local') && x.forwardDestination == 'ClusterCoreDNS')",
      "!self.exists(x, x.zone == '.' && x.forwardDestination == 'ClusterCoreDNS')",
    ],
    ours: ["self.all(x, x.zone.endsWith('cluster.local') || x.forwardDestination != 'ClusterCoreDNS')"],
    reason: 'the root zone and other zones in one: only cluster.local zones may',
  },
  {
    upstream: ["self.all(k, !k.matches('[<>%&?]'))", "self.all(k, !k.contains('\\\\'))"],
    ours: ["self.all(k, !k.matches('[<>%&?\\\\\\\\]'))"],
    reason: 'the backslash among the other characters',
  },
].map(({ upstream, ours, reason }) => ({ upstream: upstream.map(ruleText), ours: ours.map(ruleText), reason }))
