"""Every limit on what input may ask of a run. They count steps, so they are the same everywhere.

What exceeds a limit is a finding with its location, an assumption, or named in the last lines, and
everything else is still checked. ``docs/limits.md`` is made of the comments here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # a run of which nothing has changed imports this, and not typing
if TYPE_CHECKING:
    from typing import Final

# Files

#: A larger file is refused: no manifest comes near it, and memory stays bounded.
MAX_FILE_BYTES: Final = 256 * 1024 * 1024
#: A larger template or values file is not looked at for places of findings.
MAX_CHART_FILE_BYTES: Final = 4 * 1024 * 1024
#: A larger file is not read for the parameters of an ApplicationSet.
MAX_GENERATOR_FILE_BYTES: Final = 1024 * 1024
#: A larger configuration file, rule file or baseline is refused.
MAX_CONFIGURATION_BYTES: Final = 16 * 1024 * 1024
#: A larger CODEOWNERS file is not read (GitHub's own limit).
MAX_CODEOWNERS_BYTES: Final = 3 * 1024 * 1024
#: Lines of a CODEOWNERS file after so many are not read.
MAX_CODEOWNERS_LINES: Final = 20_000
#: With a larger .gitignore nothing is left out, and the run is not complete.
MAX_GITIGNORE_BYTES: Final = 256 * 1024
#: A greater number of requests a second, or of rollouts a week, is refused.
MAX_RATE: Final = 1_000_000_000
#: A longer pattern of the configuration is refused.
MAX_PATTERN_LENGTH: Final = 1000
#: More entries of one table of the configuration are refused.
MAX_CONFIGURATION_ENTRIES: Final = 1000
#: A file that is named outright is in a chart if one of so many folders above it is one.
MAX_PARENT_FOLDERS: Final = 6

# Clusters

#: An answer of an API server that takes longer, in seconds, is none.
MAX_CLUSTER_SECONDS: Final = 30
#: A longer answer of an API server is refused.
MAX_CLUSTER_ANSWER_BYTES: Final = 64 * 1024 * 1024
#: A cluster whose answers are longer together is refused.
MAX_CLUSTER_BYTES: Final = 1024 * 1024 * 1024
#: A cluster with more objects of the kinds that are read is refused.
MAX_CLUSTER_OBJECTS: Final = 200_000
#: A cluster that needs more requests is refused.
MAX_CLUSTER_REQUESTS: Final = 2000

# Dockerfiles

#: Dockerfiles, and files that name builds, after so many are not read.
MAX_BUILD_FILES: Final = 5000
#: A larger one, or a larger start script, is not read.
MAX_BUILD_FILE_BYTES: Final = 256 * 1024
#: A Dockerfile with more stages is not used.
MAX_DOCKERFILE_STAGES: Final = 200
#: Files that a Dockerfile copies after so many are not looked at for the start script.
MAX_DOCKERFILE_COPIES: Final = 1000
#: Of a start script so many characters are looked at.
MAX_START_SCRIPT: Final = 20_000

# What is kept between runs

#: The maximum size of a cache entry; larger ones are not kept.
MAX_CACHE_ENTRY_BYTES: Final = 32 * 1024 * 1024
#: A folder of the cache never takes more: what was used least lately is removed before.
MAX_CACHE_BYTES: Final = 128 * 1024 * 1024
#: With more entries in a folder of the cache, what was used least lately is removed.
MAX_CACHE_ENTRIES: Final = 500

# YAML

#: YAML that is nested deeper is refused: libyaml recurses in C once per level.
MAX_NESTING: Final = 512
#: A document whose aliases and merge keys expand to more values is refused: so many, and more for
#: each of its characters. go-yaml refuses by a ratio too.
MAX_EXPANDED_VALUES: Final = 5_000
#: The values that each character of a document adds to that.
MAX_EXPANDED_VALUES_PER_CHARACTER: Final = 5
#: Values that are nested deeper when aliases are expanded are refused.
MAX_EXPANDED_NESTING: Final = 200
#: A key that is looked for in more mappings that merge one another makes the document refused.
MAX_MERGES: Final = 100
#: A longer unquoted scalar is text, also where it looks like a number.
MAX_NUMBER_LENGTH: Final = 400
#: Pod templates that are nested deeper in an object are not looked for.
MAX_TEMPLATE_DEPTH: Final = 64

#: Documents whose nodes are kept at a time, after so many the oldest is parsed again when needed.
MAX_CACHED_DOCUMENTS: Final = 100
#: The same for the length of their texts.
MAX_CACHED_CHARACTERS: Final = 200_000

# Kustomizations, charts, Argo CD and Flux

#: A patch that is nested deeper makes the manifest refused.
MAX_PATCH_DEPTH: Final = 64
#: A patch with more parts, aliases expanded, makes the manifest refused.
MAX_PATCH_STEPS: Final = 100_000
#: An object of which kustomizations change more values is refused.
MAX_OBJECT_CHANGES: Final = 1000
#: A patch whose target has a longer pattern is named as not applied.
MAX_SELECTOR_LENGTH: Final = 1000
#: Kustomizations that name one another deeper are refused.
MAX_KUSTOMIZATION_DEPTH: Final = 30
#: A kustomization that deploys more files is refused; those that name others twice multiply them.
MAX_KUSTOMIZATION_FILES: Final = 20_000
#: More Applications of one ApplicationSet are not followed.
MAX_APPLICATIONS: Final = 500
#: A set whose filled texts are longer together is named as not shown.
MAX_FILLED_CHARACTERS: Final = 20_000_000
#: A longer parameter of a set is not filled in.
MAX_PARAMETER_CHARACTERS: Final = 10_000
#: Lines after so many are not looked at for places of findings.
MAX_CHART_TEMPLATE_LINES: Final = 20_000
#: Blocks of templates that are nested deeper are not looked at for places of findings.
MAX_CHART_TEMPLATE_BLOCKS: Final = 100
#: Definitions of templates that insert one another deeper are not followed.
MAX_CHART_DEFINITION_DEPTH: Final = 6
#: Parts of a values file after so many are not looked at.
MAX_VALUES_PARTS: Final = 200
#: A rendering that takes longer, in seconds, is stopped.
MAX_RENDERING_SECONDS: Final = 120
#: Renderings that take longer together, in seconds, are stopped.
MAX_RENDERINGS_SECONDS: Final = 600
#: A program that writes more is stopped.
MAX_RENDERING_BYTES: Final = 64 * 1024 * 1024
#: The maximum output of a program to stderr; the rest is dropped.
MAX_RENDERING_ERROR_BYTES: Final = 64 * 1024

# Objects that belong together

#: Owners of owners that are followed in a dump: a Pod has a Job, that a CronJob.
MAX_OWNERS: Final = 4
#: A pod with more containers is not analysed: each is simulated with all the others.
MAX_CONTAINERS_OF_A_POD: Final = 50
#: Services of one pod after so many are not looked at.
MAX_SERVICES_OF_A_POD: Final = 100
#: Budgets of one workload after so many are not looked at.
MAX_BUDGETS_OF_A_WORKLOAD: Final = 20
#: Workloads that Services and budgets select, together: after so many the others are not compared.
MAX_SELECTIONS: Final = 1_000_000
#: Containers of one pod that serve after so many are not asked about.
MAX_TARGETS_OF_A_POD: Final = 16
#: Unknown durations of one pod after so many are tried together with the others only.
MAX_DURATIONS_TRIED_ALONE: Final = 8
#: Problems of one kind in one pod after so many are not reported.
MAX_PROBLEMS_OF_A_KIND: Final = 200
#: Policies for one workload after so many are assumptions, not applied.
MAX_POLICIES: Final = 50
#: A policy that writes more values into one pod is an assumption, not applied.
MAX_POLICY_VALUES: Final = 1000
#: A policy's patch that is nested deeper is an assumption, not applied.
MAX_POLICY_PATCH_DEPTH: Final = 32
#: A policy's patch with more parts, aliases expanded, is an assumption, not applied.
MAX_POLICY_PATCH_STEPS: Final = 5000
#: A mutator's location with more steps is an assumption, not applied.
MAX_POLICY_LOCATION_STEPS: Final = 20
#: An object that a policy computes and that is nested deeper is an assumption, not applied.
MAX_POLICY_OBJECT_DEPTH: Final = 32
#: Programs that start one another are followed so far.
MAX_LAUNCHERS: Final = 20
#: Other cases that fit a pod, beside the likely one, after so many are not tried.
MAX_ALTERNATIVES: Final = 16

#: A longer shell script is not read: what it does is not known then.
MAX_SCRIPT_LENGTH: Final = 32_768
#: A loop of a script with more rounds takes an unknown time.
MAX_LOOP_ROUNDS: Final = 1000
#: A script whose compound commands are nested deeper is not read.
MAX_SCRIPT_NESTING: Final = 30

# Names that are not known

#: A longer name is not compared with others, to say which one is meant.
MAX_COMPARED_NAME: Final = 100
#: A name is compared with so many others.
MAX_COMPARED_NAMES: Final = 3000
#: Of unknown names of one kind, so many are compared with those that are known.
MAX_SUGGESTIONS: Final = 20
#: Keys of a mapping after so many are not compared with those that a shutdown depends on.
MAX_COMPARED_KEYS: Final = 200

# Fixes

#: Rounds in which fixes are tried: those that make way for each other settle in a few.
MAX_FIX_ROUNDS: Final = 8
#: Checks that fixes may take together. Those that are left are refused.
MAX_FIX_CHECKS: Final = 40

# Measurements

#: A query of measure that takes longer is stopped.
MAX_QUERY_SECONDS: Final = 60.0
#: A longer answer of a Prometheus is refused.
MAX_QUERY_ANSWER_BYTES: Final = 16 * 1024 * 1024

# Images

#: An answer of a registry that takes longer is given up.
MAX_REGISTRY_SECONDS: Final = 30.0
#: A longer manifest, index or configuration of an image is refused.
MAX_IMAGE_DOCUMENT_BYTES: Final = 4 * 1024 * 1024
#: A larger layer is not read for the image's shell.
MAX_IMAGE_LAYER_BYTES: Final = 8 * 1024 * 1024
#: A layer with more unpacked bytes, or more entries, is not read to its end.
MAX_IMAGE_LAYER_UNPACKED_BYTES: Final = 512 * 1024 * 1024
MAX_IMAGE_LAYER_ENTRIES: Final = 50_000
#: A longer name of an entry of a layer or archive is refused.
MAX_IMAGE_NAME_BYTES: Final = 64 * 1024
#: A larger archive of images is refused.
MAX_IMAGE_ARCHIVE_BYTES: Final = 16 * 1024 * 1024 * 1024
#: Images after so many are not asked about.
MAX_IMAGES: Final = 2_000
#: Redirects of one answer after so many are not followed.
MAX_REDIRECTS: Final = 3
#: So much of a file with a template's ending is looked at.
MAX_TEMPLATE_BYTES: Final = 100_000
#: So many of these files are named.
MAX_NAMED_TEMPLATES: Final = 5
