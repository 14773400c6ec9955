// Values of the chart, and those that name Joiner's image.
import { InvalidArgumentError } from 'commander'

/** An image in a registry, in the parts that the chart has values for. */
export interface ImageName {
  readonly repository: string
  /** Unset: the version of the chart. */
  readonly tag?: string
  /** Decides over the tag. */
  readonly digest?: string
}

/** Reads `REGISTRY/joiner:TAG@sha256:...`, of which tag and digest may be left out. Errors: InvalidArgumentError. */
export function parseImage(text: string): ImageName {
  const { repository, tag, digest } =
    /^(?<repository>[\w.-]+(?::\d+)?(?:\/[\w.-]+)+)(?::(?<tag>\w[\w.-]*))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/.exec(
      text,
    )?.groups ?? {}
  if (repository === undefined)
    throw new InvalidArgumentError('It must be an image of a registry, such as myregistry.azurecr.io/joiner:0.2.0.')
  return { repository, ...(tag === undefined ? {} : { tag }), ...(digest === undefined ? {} : { digest }) }
}

/** Returns the image of Joiner's pods. Azure does not know which one that is. */
export function imageValues(image: ImageName | undefined): readonly ChartValue[] {
  if (image === undefined)
    return [
      {
        path: ['image', 'repository'],
        value: '',
        source: 'Azure does not know where the image of Joiner is',
        remedy:
          'build and push it (docs/install-aks.md), and name it: joiner admin aks values --image REGISTRY/joiner:TAG',
        isNeeded: true,
      },
    ]
  return Object.entries(image).map(([name, value]) => ({ path: ['image', name], value, source: '--image' }))
}

/** A value of the chart, and where it comes from. */
export interface ChartValue {
  readonly path: readonly string[]
  readonly value: string | readonly string[]
  /** The field of ARM that it is read from, or why it is not known. */
  readonly source: string
  /** What to do about a value that is not known. */
  readonly remedy?: string
  /** Whether the chart installs nothing without it. */
  readonly isNeeded?: boolean
}
