import { imageForm } from '../../../core/drift/node-image-version.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import type { LearnDeps } from '../capacity/lesson.ts'
import { zoneLabelOf } from '../catalogue/zones.ts'
import { judgeFailure, type VmFailure } from '../launch/failed-vm.ts'
import { tagKeys, tagOf } from '../launch/tags.ts'
import type { Chosen } from '../node-config/node-labels.ts'
import type { AksMachine } from './machines-api.ts'

/** Returns the offering that a machine was made of. AKS leaves out the priority of a regular one (reference/azure-provider.md 4.7). */
export function offeringOf(
  { zones = [], properties }: AksMachine,
  { location }: { readonly location: string },
): Omit<Chosen, 'instanceType'> {
  return {
    typeName: properties?.hardware?.vmSize ?? '',
    zone: zoneLabelOf({ location, zones }),
    capacityType: properties?.priority === 'Spot' ? 'spot' : 'on-demand',
    ultraSsd: properties?.hardware?.ultraSsdEnabled === true,
  }
}

/** Looks into a machine that is Failed. The error of its VM is the first of the details, where AKS has any (reference/azure-provider.md 4.7). */
export function judgeFailedMachine(
  deps: LearnDeps,
  claim: NodeClaim | undefined,
  machine: AksMachine,
): Promise<VmFailure> {
  const { tags, status, nodeImageVersion: version = '' } = machine.properties ?? {}
  const error = status?.provisioningError?.details?.[0] ?? status?.provisioningError
  const { typeName, zone, capacityType } = offeringOf(machine, deps.config)
  const nodeClass = deps.cache.nodeClasses.get(claim?.spec.nodeClassRef.name ?? '')
  return judgeFailure(deps, claim, {
    called: `AKS machine ${machine.name}`,
    attempted: { instanceType: typeName, zone, capacityType },
    code: error?.code ?? 'UnknownError',
    text: error?.message ?? '',
    // Marks of images name them as the class does.
    image: nodeClass?.status.images.find(({ id }) => imageForm(id) === imageForm(version))?.id ?? version,
    nodePool: tagOf(tags, tagKeys.nodePool) ?? '',
    // AKS accepts a machine before it asks for its VM.
    hasVm: machine.properties?.resourceId !== undefined && machine.properties.resourceId !== '',
  })
}
