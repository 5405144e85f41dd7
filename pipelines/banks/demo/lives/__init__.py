"""The customers `demo1` to `demo8`, each with a life of its own. A plain one for special user ids is in `plain.py`."""

from pipelines.banks.demo.lives.apprentice import APPRENTICE
from pipelines.banks.demo.lives.couple import COUPLE
from pipelines.banks.demo.lives.employee import EMPLOYEE
from pipelines.banks.demo.lives.family import FAMILY
from pipelines.banks.demo.lives.freelancer import FREELANCER
from pipelines.banks.demo.lives.investor import INVESTOR
from pipelines.banks.demo.lives.pensioner import PENSIONER
from pipelines.banks.demo.lives.student import STUDENT

LIVES = (EMPLOYEE, FAMILY, STUDENT, PENSIONER, FREELANCER, COUPLE, INVESTOR, APPRENTICE)

__all__ = ["EMPLOYEE", "LIVES"]
