import type { InstanceType } from '../../instance-type.ts'
import type { Taint } from '../../objects.ts'
import { wellKnownLabels } from '../../requirements/labels.ts'
import { compareText } from '../../values/texts.ts'
import type { Amounts } from '../offerings/amounts.ts'
import type { PoolFacts } from '../offerings/pool-facts.ts'
import type { RequirementSets } from '../offerings/requirement-sets.ts'
import type { Reservations } from '../reservations.ts'
import type { SchedulableNode, SchedulingOptions, SchedulingSnapshot } from '../snapshot.ts'
import type { CountedNode } from '../topology/label-facts.ts'
import type { TopologyBase } from '../topology/topology-base.ts'
import { NodeCandidates } from './candidates.ts'
import { SolverMemory } from './memory.ts'
import type { NodePlace } from './places.ts'
import { ClaimFinisher } from './planned-claims.ts'
import { PodClasses } from './pod-classes.ts'
import type { Candidates, FacetFacts, LevelMaker, RequestFacts } from './pod-facts.ts'
import { indexPools, indexTopology, nodePlace, reservationsOf } from './snapshot-index.ts'

/** Shared state of passes over one snapshot. Passes only add results that were not computed before, which changes no other pass. */
export class SolverBase {
  readonly snapshot: SchedulingSnapshot
  readonly options: SchedulingOptions
  readonly memory: SolverMemory
  readonly wellKnown: ReadonlySet<string>
  readonly sets: RequirementSets
  readonly amounts: Amounts
  readonly classes: PodClasses
  readonly pools: readonly PoolFacts[]
  readonly topology: TopologyBase
  /** In the order in which they are tried. */
  readonly nodes: readonly NodePlace[]
  readonly reservations: Reservations | undefined
  readonly levels: LevelMaker
  readonly finisher: ClaimFinisher
  readonly #version: number
  readonly #counted: ReadonlyMap<SchedulableNode, CountedNode>
  readonly #taintLists = new Map<string, number>()
  readonly #named = new WeakMap<ReadonlySet<string>, Uint8Array>()
  #numbers: ReadonlyMap<SchedulableNode, number> | undefined

  constructor(snapshot: SchedulingSnapshot, options: SchedulingOptions, memory = new SolverMemory()) {
    this.snapshot = snapshot
    this.options = options
    this.memory = memory
    this.wellKnown = options.wellKnownLabels ?? wellKnownLabels
    this.sets = memory.setsFor(this.wellKnown)
    this.classes = new PodClasses(snapshot.pods, memory.texts)
    memory.learn(snapshot, this.classes.requested)
    this.amounts = memory.amounts
    this.#version = this.amounts.version
    this.classes.measure(this.amounts)
    const { sets, amounts, wellKnown } = this
    const typeIndex = (types: readonly InstanceType[]) => memory.typeIndex(types, wellKnown)
    this.pools = indexPools(snapshot, options, { sets, amounts, typeIndex })
    const { topology, places } = indexTopology(snapshot, options, { sets, memory, pools: this.pools })
    this.topology = topology
    this.#counted = places
    const taintList = (taints: readonly Taint[]) => this.taintList(taints)
    this.nodes = [...snapshot.nodes]
      .sort((a, b) => Number(b.initialized) - Number(a.initialized) || compareText(a.name, b.name))
      .map((node) => nodePlace(node, { sets, memory, topology, taintList }))
    this.reservations = reservationsOf(snapshot, options, this.pools)
    this.levels = {
      sets,
      respectsPreferences: options.preferencePolicy !== 'Ignore',
      toleratePreferNoSchedule: this.pools.some(({ taints }) =>
        taints.some(({ effect }) => effect === 'PreferNoSchedule'),
      ),
      facet: (tolerations, wanted) => this.classes.facet(tolerations, wanted),
      labels: (pod) => topology.labelsOf(pod),
    }
    this.finisher = new ClaimFinisher(sets, options)
  }

  /** Whether later amounts made the units here invalid: passes must not continue with it. */
  get isOutdated(): boolean {
    return this.amounts.version !== this.#version
  }

  taintList(taints: readonly Taint[]): number {
    const key = JSON.stringify(taints)
    const known = this.#taintLists.get(key)
    if (known !== undefined) return known
    const number = this.#taintLists.size
    this.#taintLists.set(key, number)
    return number
  }

  candidates(facet: FacetFacts, requested: RequestFacts): Candidates {
    let known = facet.candidates.get(requested)
    if (known === undefined) {
      known = new NodeCandidates(this, facet, requested)
      facet.candidates.set(requested, known)
    }
    return known
  }

  /** Returns by node number 1 for nodes with one of these names. */
  named(names: ReadonlySet<string>): Uint8Array {
    let found = this.#named.get(names)
    if (found === undefined) {
      found = Uint8Array.from(this.nodes, ({ node }) => (names.has(node.name) ? 1 : 0))
      this.#named.set(names, found)
    }
    return found
  }

  /** Returns the index in `nodes` of a node of the snapshot. Errors: throws when it is not of the snapshot. */
  numberOf(node: SchedulableNode): number {
    this.#numbers ??= new Map(this.nodes.map((place, number) => [place.node, number]))
    const number = this.#numbers.get(node)
    if (number === undefined) throw new Error(`node "${node.name}" is not in the snapshot; take the object from there`)
    return number
  }

  /** Returns a node of the snapshot as topology counts it. Errors: as `numberOf`. */
  counted(node: SchedulableNode): CountedNode {
    this.numberOf(node)
    return this.#counted.get(node) as CountedNode
  }
}
