import type { Json } from '../../../../../activities/kubernetes/client/answers.ts'
import type { Node, Pod } from '../../../../../core/objects.ts'
import { pathOf } from '../../api/paths.ts'
import { specOf } from '../seen.ts'
import { meetsTerm } from './node-affinity.ts'
import { namespaceOf, type Place, type Places } from './places.ts'

type Terms = readonly Parameters<typeof meetsTerm>[0][]

interface VolumeSpec {
  readonly csi?: { readonly driver: string }
  readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms?: Terms } }
}

interface ClaimSpec {
  readonly volumeName?: string
  readonly storageClassName?: string
}

/** What the volumes of pods ask of their nodes. */
export class Volumes {
  readonly #places: Places

  constructor(places: Places) {
    this.#places = places
  }

  /** Why a pod can be nowhere; undefined: its volumes are there, or are made where it is. */
  problem(pod: Pod): string | undefined {
    for (const name of pod.persistentVolumeClaims) {
      const claim = this.#claim(pod, name)
      if (claim === undefined) return `persistentvolumeclaim "${name}" not found`
      if ((specOf(claim) as ClaimSpec).volumeName === undefined && !this.#waits(claim))
        return 'pod has unbound immediate PersistentVolumeClaims'
    }
    return undefined
  }

  /** Why a pod's volumes cannot be had in a place. */
  refusal(pod: Pod, place: Place): string | undefined {
    for (const name of pod.persistentVolumeClaims) {
      const claim = this.#claim(pod, name)
      const volume = claim && this.#volume(claim)
      const terms = volume && (specOf(volume) as VolumeSpec).nodeAffinity?.required?.nodeSelectorTerms
      if (terms !== undefined && !terms.some((term) => meetsTerm(term, place.node)))
        return "node(s) didn't match PersistentVolume's node affinity"
      if (claim !== undefined && volume === undefined && !this.#isAllowed(claim, place.node))
        return "node(s) didn't find available persistent volumes to bind"
    }
    return this.#exceeds(pod, place) ? 'node(s) exceed max volume count' : undefined
  }

  #claim(pod: Pod, name: string): Json | undefined {
    return this.#places.objects.find(pathOf('persistentvolumeclaims', name, namespaceOf(pod)))
  }

  #volume(claim: Json): Json | undefined {
    const { volumeName } = specOf(claim) as ClaimSpec
    return volumeName === undefined ? undefined : this.#places.objects.find(pathOf('persistentvolumes', volumeName))
  }

  #class(claim: Json): Json | undefined {
    const { storageClassName = '' } = specOf(claim) as ClaimSpec
    return this.#places.objects.find(pathOf('storageclasses', storageClassName))
  }

  #waits(claim: Json): boolean {
    return this.#class(claim)?.['volumeBindingMode'] === 'WaitForFirstConsumer'
  }

  #isAllowed(claim: Json, node: Node): boolean {
    const { allowedTopologies = [] } = (this.#class(claim) ?? {}) as {
      readonly allowedTopologies?: readonly {
        readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[]
      }[]
    }
    return (
      allowedTopologies.length === 0 ||
      allowedTopologies.some(({ matchLabelExpressions = [] }) =>
        matchLabelExpressions.every(({ key, values }) => values.includes(node.metadata.labels[key] ?? '')),
      )
    )
  }

  /** Whether a driver could not attach one volume more. */
  #exceeds(pod: Pod, { node, pods }: Place): boolean {
    if (pod.persistentVolumeClaims.length === 0) return false
    const csiNode = this.#places.objects.find(pathOf('csinodes', node.metadata.name))
    const { drivers = [] } = specOf(csiNode ?? {}) as {
      readonly drivers?: readonly { readonly name: string; readonly allocatable?: { readonly count?: number } }[]
    }
    return drivers.some(({ name, allocatable }) => {
      const used = new Set([...pods, pod].flatMap((one) => this.#attached(one, name)))
      return used.size > (allocatable?.count ?? Number.POSITIVE_INFINITY)
    })
  }

  /** Volumes of a pod that a driver attaches. */
  #attached(pod: Pod, driver: string): readonly string[] {
    return pod.persistentVolumeClaims
      .filter((name) => {
        const claim = this.#claim(pod, name)
        const volume = claim && this.#volume(claim)
        const own =
          volume === undefined
            ? claim && this.#class(claim)?.['provisioner']
            : (specOf(volume) as VolumeSpec).csi?.driver
        return own === driver
      })
      .map((name) => `${namespaceOf(pod)}/${name}`)
  }
}
