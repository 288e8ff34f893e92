import os
import time

from watch.poll import ask
from watch.pumps import read_pumps

while True:
    for pump in read_pumps(os.environ["PUMPS"]):
        ask(pump)
    time.sleep(60)
