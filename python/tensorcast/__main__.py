"""`python -m tensorcast` is the command `tensorcast` that tensorcast-cli installs beside the package.

SPDX-License-Identifier: Apache-2.0
"""

import os
import sys
import sysconfig


def main() -> int:
    """Becomes the command, if it is there."""
    schemes = {sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")}
    for folder in (sysconfig.get_path("scripts", scheme) for scheme in sorted(schemes)):
        command = os.path.join(folder, "tensorcast" + (".exe" if os.name == "nt" else ""))
        if os.access(command, os.X_OK):
            os.execv(command, [command, *sys.argv[1:]])
    print("tensorcast: the command is not installed beside the package: pip install tensorcast-cli, or from the sources "
          "pip install . --config-settings cmake.define.TENSORCAST_COMMAND=ON", file=sys.stderr)
    return 5


if __name__ == "__main__":
    sys.exit(main())
