// Compiles only while the types of `core` and the schemas agree on Karpenter's objects: `npm run types` names the field that differs.
import type { JudgedNodeClassSpec } from '../core/node-class/node-class-validation.ts'
import type * as core from '../core/objects.ts'
import type { nodePoolSpec } from './node-pool.ts'
import type {
  NodeClaimSpecJson,
  NodeClaimStatusJson,
  NodeClass,
  NodeClassStatusJson,
  NodePoolSpecJson,
  NodePoolStatusJson,
} from './objects.ts'
import type { Served } from './served.ts'

/** Fields of core's type that the schema does not have, or for which it accepts values that core does not expect. */
type Unfounded<Schema, Core> = {
  [Name in keyof Core & string]-?: Name extends keyof Schema
    ? NonNullable<Schema[Name]> extends NonNullable<Core[Name]>
      ? never
      : `${Name}: core and the schema declare different values`
    : `${Name}: core declares it, the schema does not`
}[keyof Core & string]

/** The schema's fields that core does not declare. `Undecided` lists those that core does not use for decisions. */
type Unknown<Schema, Core, Undecided> = {
  [Name in Exclude<keyof Schema & string, Undecided>]-?: Name extends keyof Core
    ? never
    : `${Name}: the schema declares it, core does not; declare it in core/objects.ts, or list it here as undecided`
}[Exclude<keyof Schema & string, Undecided>]

/** Differences in both directions; none may be left. */
type Differences<Schema, Core, Undecided = never> = Unfounded<Schema, Core> | Unknown<Schema, Core, Undecided>

type None<Difference extends never> = Difference

type Element<List> = NonNullable<List> extends readonly (infer Item)[] ? Item : never
type ClaimSpec = NodePoolSpecJson['template']['spec']
/** Core declares it with its defaults. */
type Disruption = Served<typeof nodePoolSpec>['disruption']
type PoolSpec = Omit<NodePoolSpecJson, 'disruption'> & { readonly disruption: Disruption }

/** Amounts as texts, where core has them parsed. */
type Written<Core, Amounts extends keyof Core> = {
  readonly [Name in keyof Core]: Name extends Amounts ? Readonly<Record<string, string>> : Core[Name]
}
type Renamed<Core, Names extends Readonly<Record<string, string>>> = {
  readonly [Name in keyof Core as Name extends keyof Names ? Names[Name] : Name]: Core[Name]
}
type ClaimStatus = Renamed<
  Written<core.NodeClaim['status'], 'capacity' | 'allocatable'>,
  { providerId: 'providerID'; imageId: 'imageID' }
>
type PoolFields = Written<Pick<core.NodePool, 'disruption' | 'limits' | 'weight' | 'replicas'>, 'limits'>
type Template = NodePoolSpecJson['template']
type PoolStatus = Written<
  Pick<core.NodePool, 'conditions' | 'resources' | 'nodes' | 'nodeClassObservedGeneration'>,
  'resources'
>

/** Unused: its compilation is the check. */
export type Agreement = readonly [
  // timeAdded is part of the drift hash, and is written to Nodes with the rest.
  None<Differences<Element<ClaimSpec['taints']>, core.Taint, 'timeAdded'>>,
  None<Differences<Element<ClaimSpec['requirements']>, core.RequirementSpec>>,
  None<Differences<ClaimSpec['nodeClassRef'], core.NodeClassRef>>,
  None<Differences<ClaimSpec, core.NodeClaimSpec>>,
  // Core has the requests without the surrounding object.
  None<Differences<NodeClaimSpecJson, core.NodeClaimSpec, 'resources'>>,
  None<Differences<NodeClaimStatusJson, ClaimStatus>>,
  None<Differences<Element<NodeClaimStatusJson['conditions']>, core.Condition>>,
  None<Differences<Element<Disruption['budgets']>, core.Budget>>,
  None<Differences<Disruption, core.NodePool['disruption']>>,
  None<Differences<PoolSpec, PoolFields, 'template'>>,
  // Core has a template's labels and annotations without the surrounding object.
  None<Differences<NonNullable<Template['metadata']>, Pick<core.NodePool['template'], 'labels' | 'annotations'>>>,
  None<Differences<Template, Record<'spec', unknown>, 'metadata'>>,
  None<Differences<NodePoolStatusJson, PoolStatus>>,
  None<Differences<NodeClassStatusJson, Renamed<core.NodeClass['status'], { localDnsState: 'localDNSState' }>>>,
  // Core uses only a part of a node class's spec.
  None<Unfounded<NodeClass['spec'], JudgedNodeClassSpec>>,
  None<Unfounded<NonNullable<NodeClass['spec']['kubelet']>, NonNullable<JudgedNodeClassSpec['kubelet']>>>,
  None<Unfounded<NonNullable<NodeClass['spec']['localDNS']>, NonNullable<JudgedNodeClassSpec['localDNS']>>>,
]
